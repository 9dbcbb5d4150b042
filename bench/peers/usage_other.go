//go:build !unix

package main

import "time"

// usage knows nothing here.
func usage() (cpu time.Duration, megabytes float64) { return 0, 0 }
