package bench

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// text returns a key file of n lines made by f.
func text(n int, f func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(f(i) + "\n")
	}
	return b.String()
}

func word(i int) string { return fmt.Sprintf("word-%06d", i) }

func compressed(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func parse(t *testing.T, s string, limit int) *FileKeys {
	t.Helper()
	k, err := parseKeys(strings.NewReader(s), limit, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A key set from a file keeps the promises of Keys, and uses every line for one
// thing or the other, however the lines are written.
func TestFileKeys(t *testing.T) {
	plain := text(5000, word)
	for name, s := range map[string]string{
		"plain":             plain,
		"compressed":        compressed(t, plain),
		"Windows line ends": strings.ReplaceAll(plain, "\n", "\r\n"),
		"no last line end":  strings.TrimSuffix(plain, "\n"),
		"empty lines":       strings.ReplaceAll(plain, "\n", "\n\n\r\n"),
		"values":            text(5000, func(i int) string { return word(i) + "\tv" + word(i) }),
	} {
		t.Run(name, func(t *testing.T) {
			k := parse(t, s, 0)
			if k.Len() != 4000 || k.HeldOut() != 1000 || k.Repeated() != 0 {
				t.Fatalf("%d present, %d held out, %d repeated; want 4000, 1000, 0", k.Len(), k.HeldOut(), k.Repeated())
			}
			wellFormed(t, k, k.HeldOut())
			for i := range k.Len() {
				key := string(k.Present(nil, i))
				if !strings.HasPrefix(key, "word-") || len(key) != len(word(0)) {
					t.Fatalf("the key %q is not one of the file's", key)
				}
				if v := string(k.Value(nil, i)); name == "values" && v != "v"+key {
					t.Fatalf("the value of %q is %q", key, v)
				} else if name != "values" && len(v) != 10 {
					t.Fatalf("a made value has %d bytes; want 10", len(v))
				}
			}
			if !bytes.Equal(k.Absent(nil, 0), k.Absent(nil, 1000)) {
				t.Error("after the last held-out key comes another than the first")
			}
		})
	}
}

// A key that comes twice is loaded once, with its first value, and can never be
// present and absent.
func TestFileKeysRepeated(t *testing.T) {
	s := text(2000, func(i int) string { return fmt.Sprintf("%s\t%d", word(i%1000), i) })
	k := parse(t, s, 0)
	if k.Len()+k.HeldOut() != 1000 || k.Repeated() != 1000 {
		t.Fatalf("%d keys, %d repeated; want 1000, 1000", k.Len()+k.HeldOut(), k.Repeated())
	}
	wellFormed(t, k, k.HeldOut())
	for i := range k.Len() {
		if v := k.Value(nil, i); len(v) > 3 {
			t.Fatalf("the value of %q is %q, from its second line", k.Present(nil, i), v)
		}
	}
}

// A limit takes the first keys of the file.
func TestFileKeysLimit(t *testing.T) {
	k := parse(t, text(5000, func(i int) string { return word(4999 - i) }), 500)
	if k.Len()+k.HeldOut() != 500 {
		t.Fatalf("%d keys; want 500", k.Len()+k.HeldOut())
	}
	for i := range k.Len() {
		if key := string(k.Present(nil, i)); key < word(4500) {
			t.Fatalf("the key %q is not one of the first 500", key)
		}
	}
}

// A file that cannot be used is refused with the line and the limit.
func TestFileKeysRefused(t *testing.T) {
	few := text(200, word)
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"empty":          {"", 0, "0 distinct keys; want at least 100"},
		"one byte":       {"x", 0, "1 distinct keys; want at least 100"},
		"too few":        {text(300, func(i int) string { return word(i % 99) }), 0, "99 distinct keys; want at least 100"},
		"over the end":   {few, 201, "200 distinct keys; -n asks for 201"},
		"long key":       {few + strings.Repeat("k", MaxKeySize+1), 0, "line 201: a key of 65536 bytes; the limit is 65535"},
		"long value":     {few + "k\t" + strings.Repeat("v", MaxValueSize+1), 0, "line 201: a value of 1048577 bytes; the limit is 1048576"},
		"long line":      {few + "\n\n" + strings.Repeat("x", MaxKeySize+MaxValueSize+10), 0, "line 203 is over the limit of 1114112 bytes"},
		"gzip header":    {"\x1f\x8bxxxxxxxxxxx", 0, "gzip: invalid header"},
		"gzip cut short": {compressed(t, few)[:100], 0, "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseKeys(strings.NewReader(c.text), c.limit, 10, 1)
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v; want %s", err, c.want)
			}
		})
	}
}

// What the longest allowed key and value are is read back whole.
func TestFileKeysLongest(t *testing.T) {
	key, value := strings.Repeat("k", MaxKeySize), strings.Repeat("v", MaxValueSize)
	k := parse(t, text(200, word)+key+"\t"+value+"\r\n", 0)
	for i := range k.Len() {
		if string(k.Present(nil, i)) == key && string(k.Value(nil, i)) == value {
			return
		}
	}
	t.Error("the longest pair is not among the present ones") // it is the least key: never held out
}

// ReadKeyFile names the file in what it says.
func TestReadKeyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "words")
	if err := os.WriteFile(path, []byte(text(200, word)), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, err := ReadKeyFile(path, 0, 10, 1); err != nil || k.Len() != 160 {
		t.Errorf("ReadKeyFile: %v", err)
	}
	for _, bad := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := ReadKeyFile(bad, 0, 10, 1); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("ReadKeyFile(%q) = %v; want an error that names it", bad, err)
		}
	}
}

// Any bytes are a key set or an error, within memory that the input bounds.
func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(text(150, word)), 0)
	f.Add([]byte(text(150, func(i int) string { return word(i) + "\tvalue" })), 120)
	f.Add([]byte("a\r\nb\t\n\n\t\n"), 3)
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}, 0)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		k, err := parseKeys(bytes.NewReader(data), max(limit, 0), 3, 1)
		if err != nil {
			return
		}
		wellFormed(t, k, min(k.HeldOut(), 50))
	})
}
