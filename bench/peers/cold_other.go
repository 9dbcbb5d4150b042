//go:build !linux

package main

import "errors"

func dropPages(string) error {
	return errors.New("-cold: there is no way here to drop the page cache")
}
