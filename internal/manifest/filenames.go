package manifest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// FileKind says what a file in a database directory is for.
type FileKind uint8

// The kinds of file. Foreign is everything that sift did not name: it is
// neither read, nor deleted, nor counted.
const (
	Foreign FileKind = iota
	Current
	CurrentTemp
	Lock
	Manifest
	Log
	Table
)

// MaxFileNum is the largest file number. A name with a larger one is foreign,
// so that no stray file can use the numbers up.
const MaxFileNum = 1<<56 - 1

const (
	currentName     = "CURRENT"
	currentTempName = "CURRENT.tmp"
	lockName        = "LOCK"
	manifestPrefix  = "MANIFEST-"
	logSuffix       = ".log"
	tableSuffix     = ".sst"
)

// Path returns the path of a file. The kinds that have no number ignore num.
func Path(dir string, kind FileKind, num uint64) string {
	return filepath.Join(dir, name(kind, num))
}

func name(kind FileKind, num uint64) string {
	switch kind {
	case Current:
		return currentName
	case CurrentTemp:
		return currentTempName
	case Lock:
		return lockName
	case Manifest:
		return manifestPrefix + digits(num)
	case Log:
		return digits(num) + logSuffix
	case Table:
		return digits(num) + tableSuffix
	default:
		panic(fmt.Sprintf("BUG: no name for file kind %d", kind))
	}
}

func digits(num uint64) string { return fmt.Sprintf("%06d", num) }

// ParseName tells what a base name stands for. Only names exactly as Path
// makes them are ours; the rest are Foreign.
func ParseName(base string) (kind FileKind, num uint64) {
	switch base {
	case currentName:
		return Current, 0
	case currentTempName:
		return CurrentTemp, 0
	case lockName:
		return Lock, 0
	}
	if s, ok := strings.CutPrefix(base, manifestPrefix); ok {
		return numbered(Manifest, s)
	}
	if s, ok := strings.CutSuffix(base, logSuffix); ok {
		return numbered(Log, s)
	}
	if s, ok := strings.CutSuffix(base, tableSuffix); ok {
		return numbered(Table, s)
	}
	return Foreign, 0
}

// numbered accepts s only if it is how a valid number is written, which rules
// out signs, missing and surplus zeros, and overflow at once.
func numbered(kind FileKind, s string) (FileKind, uint64) {
	num, err := strconv.ParseUint(s, 10, 64)
	if err != nil || num == 0 || num > MaxFileNum || digits(num) != s {
		return Foreign, 0
	}
	return kind, num
}
