//go:build !amd64 || purego

package bloom

func machinePaths(*Filter) []path { return nil }
