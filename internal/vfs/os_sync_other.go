//go:build !linux

package vfs

// sync is F_FULLFSYNC on Apple systems, whose fsync leaves data in the cache of
// the drive, FlushFileBuffers on Windows and fsync elsewhere: package os knows.
func (o *osFile) sync() error { return o.f.Sync() }

// allocate does nothing: growing the file without reserving its blocks would
// promise what is not so.
func (o *osFile) allocate(int64) error { return nil }
