//go:build !amd64 || purego

package bloom

func machinePaths(*Filter) []path { return nil }

// machines returns f as each kind of processor opens it.
func machines(f *Filter) []*Filter { return []*Filter{f} }
