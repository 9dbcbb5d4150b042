package memtable

import (
	"encoding/binary"

	"github.com/siftkv/sift/internal/key"
)

// An entry is one version of one key in the arena:
//
//	0         8         10          14        14 or 22
//	+---------+---------+-----------+---------+----------+------------+
//	| trailer | key len | value len | older   | key      | value      |
//	| u64     | u16     | u32       | u64, if |          |            |
//	+---------+---------+-----------+---------+----------+------------+
//
// Integers are little-endian. The top bit of the value length says that there is
// an older version of the same key, and that its ref follows. A memtable is never
// written to disk, so this is no file format. An entry never changes once a
// reader can find it.
//
// The slice runs to the end of the chunk.
type entry []byte

const (
	entryHeader = 14
	hasOlder    = 1 << 31
)

// entryLen returns the bytes that an entry takes.
func entryLen(user, value []byte, older ref) int {
	n := entryHeader + len(user) + len(value)
	if older != 0 {
		n += 8
	}
	return n
}

// write fills the entry in.
func (e entry) write(k key.Internal, value []byte, older ref) {
	binary.LittleEndian.PutUint64(e, uint64(k.Trailer))
	binary.LittleEndian.PutUint16(e[8:], uint16(len(k.User)))
	n, at := uint32(len(value)), entryHeader
	if older != 0 {
		n |= hasOlder
		binary.LittleEndian.PutUint64(e[at:], uint64(older))
		at += 8
	}
	binary.LittleEndian.PutUint32(e[10:], n)
	at += copy(e[at:], k.User)
	copy(e[at:], value)
}

func (e entry) trailer() key.Trailer { return key.Trailer(binary.LittleEndian.Uint64(e)) }

// older returns the version before this one, 0 if there is none.
func (e entry) older() ref {
	if e.valueWord()&hasOlder == 0 {
		return 0
	}
	return ref(binary.LittleEndian.Uint64(e[entryHeader:]))
}

func (e entry) valueWord() uint32 { return binary.LittleEndian.Uint32(e[10:]) }

// keyStart and keyEnd bound the key within the entry.
func (e entry) keyStart() int { return entryHeader + int(e.valueWord()>>31)*8 }
func (e entry) keyEnd() int   { return e.keyStart() + int(binary.LittleEndian.Uint16(e[8:])) }

func (e entry) user() []byte {
	start, end := e.keyStart(), e.keyEnd()
	return e[start:end:end]
}

func (e entry) value() []byte {
	start := e.keyEnd()
	end := start + int(e.valueWord()&^hasOlder)
	return e[start:end:end]
}

func (e entry) internal() key.Internal { return key.Internal{User: e.user(), Trailer: e.trailer()} }
