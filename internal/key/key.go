// Package key defines what sift orders and stores: internal keys, their kinds,
// and the errors that every layer shares.
//
// An internal key is a user key with a trailer, a sequence number and a kind.
// Internal keys are ordered by user key ascending, then by trailer descending,
// so that the newest version of a user key comes first.
package key

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Kind says what an entry does to its key. The numbers are part of every file
// format and never change; a reader that meets a kind it does not know reports
// ErrVersion instead of guessing.
type Kind uint8

// The kinds of format version 1. Those marked "reserved" have a place in the
// formats but no call that writes them yet.
const (
	Delete       Kind = 0 // the key has no value
	Set          Kind = 1 // the key has this value
	Merge        Kind = 2 // reserved: an operand for the value below
	RangeDelete  Kind = 3 // reserved: keys in [key, value) have no value
	SetExpiring  Kind = 4 // reserved: as Set; the value starts with a time, 8 bytes
	SetValueFile Kind = 5 // reserved: the value is a place in a value file
	maxKind           = SetValueFile
)

var kindNames = [...]string{"delete", "set", "merge", "range-delete", "set-expiring", "set-value-file"}

// Known reports whether k is a kind of this format version.
func (k Kind) Known() bool { return k <= maxKind }

func (k Kind) String() string {
	if k.Known() {
		return kindNames[k]
	}
	return fmt.Sprintf("kind-%d", uint8(k))
}

// Limits of what can be stored, in bytes.
const (
	MaxKeyLen   = 1<<16 - 1
	MaxValueLen = 512 << 20
)

// MaxSeq is the largest sequence number: 56 bits.
const MaxSeq = 1<<56 - 1

// TrailerLen is the encoded length of a Trailer.
const TrailerLen = 8

// A Trailer is a sequence number in the high 56 bits and a Kind in the low 8.
type Trailer uint64

// MakeTrailer joins a sequence number and a kind.
func MakeTrailer(seq uint64, k Kind) Trailer { return Trailer(seq<<8 | uint64(k)) }

// SeekTrailer is the trailer that sorts before every version that a reader at
// seq may see, and after every newer one.
func SeekTrailer(seq uint64) Trailer { return Trailer(seq<<8 | 0xff) }

// Seq returns the sequence number.
func (t Trailer) Seq() uint64 { return uint64(t >> 8) }

// Kind returns the kind.
func (t Trailer) Kind() Kind { return Kind(t) }

// Internal is a user key with its trailer. It does not own User.
type Internal struct {
	User    []byte
	Trailer Trailer
}

// Make returns the internal key of one version.
func Make(user []byte, seq uint64, k Kind) Internal {
	return Internal{user, MakeTrailer(seq, k)}
}

// Seek returns the internal key before the first version of user that a reader
// at seq may see.
func Seek(user []byte, seq uint64) Internal { return Internal{user, SeekTrailer(seq)} }

// Compare orders internal keys: user key ascending, newest version first.
func Compare(a, b Internal) int {
	if c := bytes.Compare(a.User, b.User); c != 0 {
		return c
	}
	switch {
	case a.Trailer > b.Trailer:
		return -1
	case a.Trailer < b.Trailer:
		return 1
	}
	return 0
}

// Append appends the encoding of k: the user key, then the trailer in eight
// little-endian bytes.
func (k Internal) Append(dst []byte) []byte {
	dst = append(dst, k.User...)
	return binary.LittleEndian.AppendUint64(dst, uint64(k.Trailer))
}

// Decode splits an encoded internal key. The result aliases b. It reports
// false for bytes too short to hold a trailer.
func Decode(b []byte) (Internal, bool) {
	n := len(b) - TrailerLen
	if n < 0 {
		return Internal{}, false
	}
	return Internal{b[:n:n], Trailer(binary.LittleEndian.Uint64(b[n:]))}, true
}

// Clone returns a copy that owns its user key.
func (k Internal) Clone() Internal {
	k.User = append(make([]byte, 0, len(k.User)), k.User...)
	return k
}

func (k Internal) String() string {
	return fmt.Sprintf("%q#%d,%s", k.User, k.Trailer.Seq(), k.Trailer.Kind())
}

// Prefix returns the 8 bytes of user that follow its first skip bytes, as a
// big-endian integer, with zeros where the key is shorter. For two keys that
// share their first skip bytes, a smaller Prefix means a smaller key, and equal
// Prefixes mean that the whole keys must be compared.
func Prefix(user []byte, skip int) uint64 {
	if len(user) >= skip+8 {
		return binary.BigEndian.Uint64(user[skip:])
	}
	var p uint64
	for i := skip; i < skip+8; i++ {
		p <<= 8
		if i < len(user) {
			p |= uint64(user[i])
		}
	}
	return p
}

// CommonPrefix returns the number of leading bytes that a and b share.
func CommonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]) {
		i += 8
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
