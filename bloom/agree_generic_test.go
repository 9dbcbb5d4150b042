//go:build !amd64 || purego

package bloom

func machinePaths(*Filter) []path { return nil }

// machines returns ways to run something, one for each assembly there is.
func machines() []func(func()) { return []func(func()){func(run func()) { run() }} }
