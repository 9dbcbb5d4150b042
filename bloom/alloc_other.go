//go:build !linux

package bloom

// askForHugePages does nothing: other systems give huge pages unasked or not at
// all.
func askForHugePages([]byte) error { return nil }
