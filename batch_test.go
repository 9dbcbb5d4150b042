package sift

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/siftkv/sift/internal/key"
)

// The bytes of a batch are part of the log's format. The page that describes them
// shows this very example.
func TestBatchGoldenBytes(t *testing.T) {
	var b Batch
	if err := b.Put([]byte("cat"), []byte("meow")); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete([]byte("dog")); err != nil {
		t.Fatal(err)
	}
	b.setSeq(1)
	const want = "0100000000000000" + "02000000" + "0103636174046d656f77" + "0003646f67"
	if got := hex.EncodeToString(b.rep); got != want {
		t.Errorf("batch is\n%s, want\n%s", got, want)
	}

	page, err := os.ReadFile("docs/formats/batch.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "## Example")
	var shown strings.Builder
	for line := range strings.Lines(example) {
		bytesOf, _, _ := strings.Cut(line, "   ")
		if h := strings.ReplaceAll(strings.TrimSpace(bytesOf), " ", ""); h != "" && strings.Trim(h, "0123456789abcdef") == "" {
			shown.WriteString(h)
		}
	}
	if shown.String() != want {
		t.Errorf("docs/formats/batch.md shows\n%s, want\n%s", shown.String(), want)
	}
}

// decodeBatch walks an encoded batch to its end.
func decodeBatch(rep []byte) (entries int, err error) {
	r, err := readBatch(rep)
	if err != nil {
		return 0, err
	}
	for {
		_, _, ok, err := r.next()
		if err != nil || !ok {
			return entries, err
		}
		entries++
	}
}

// A batch that was cut or lengthened by as little as a byte is an error, and none
// panics or claims more entries than it has bytes.
func FuzzBatch(f *testing.F) {
	var b Batch
	_ = b.Put([]byte("cat"), []byte("meow"))
	_ = b.Delete([]byte("dog"))
	_ = b.Put(nil, bytes.Repeat([]byte("x"), 300))
	b.setSeq(7)
	f.Add(b.rep)
	f.Add(b.rep[:len(b.rep)-1])
	f.Add(append(bytes.Clone(b.rep), 0))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, rep []byte) {
		n, err := decodeBatch(rep)
		if n > len(rep) {
			t.Fatalf("%d entries in %d bytes", n, len(rep))
		}
		if err != nil {
			return
		}
		if _, err := decodeBatch(rep[:len(rep)-1]); err == nil && n > 0 {
			t.Error("a batch that lost its last byte was accepted")
		}
		if _, err := decodeBatch(append(bytes.Clone(rep), 0)); err == nil {
			t.Error("a batch with a byte too many was accepted")
		}
	})
}

// A kind that this release cannot apply is reported as such, not as damage: the
// log was written by a newer release.
func TestBatchOfUnknownKind(t *testing.T) {
	var b Batch
	if err := b.Put([]byte("k"), nil); err != nil {
		t.Fatal(err)
	}
	b.setSeq(1)
	for kind := range 256 {
		b.rep[batchHeader] = byte(kind)
		_, err := decodeBatch(b.rep)
		known := key.Kind(kind) == key.Set
		if known != (err == nil) {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}
