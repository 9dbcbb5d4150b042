package vfs_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/siftkv/sift/internal/vfs"
)

var update = flag.Bool("update", false, "rewrite the results in testdata/transcripts")

// The transcripts say, call by call, what a power cut leaves. A line that begins
// with a tab is a result; all others are commands:
//
//	mkdir D | syncdir D | create F | open F | close F | reuse A B | rename A B | link A B | remove F
//	append F 300a 200b      300 times "a", then 200 times "b"
//	skip F N | truncate F N | allocate F N | sync F | lock F | rlock F | unlock F
//	append-in-sync F X      a sync of F, while which X is appended
//	show                    every file and its bytes, runs as "300a", zeros as "0", the rest as "?"
//	crash P SEED            the same after a power cut, which is undone
//	outcomes N              which images 50 % power cuts of N seeds leave
//	then crash P SEED | then kill   goes on in the clone, where nothing is open
//	windows on | space N
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			must(t, err)
			got := runTranscript(t, string(want))
			if *update {
				must(t, os.WriteFile(file, []byte(got), 0o644))
			} else if got != string(want) {
				t.Errorf("%s: got\n%s", file, firstDifference(got, string(want)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %s\n   want: %s", i+1, g[i], w[i])
		}
	}
	return "another number of lines"
}

// runTranscript runs the commands and returns the transcript with its results.
func runTranscript(t *testing.T, script string) string {
	s := &session{t: t, m: vfs.NewMem(), files: map[string]vfs.File{}, locks: map[string]io.Closer{}}
	var out strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, result := range s.run(words[0], words[1:]) {
			out.WriteString("\t" + result + "\n")
		}
	}
	return out.String()
}

// session is a Mem and what is open on it, by name.
type session struct {
	t     *testing.T
	m     *vfs.Mem
	files map[string]vfs.File
	locks map[string]io.Closer
}

func (s *session) run(command string, args []string) []string {
	switch command {
	case "show":
		return tree(s.t, s.m)
	case "crash":
		return tree(s.t, s.crash(args))
	case "outcomes":
		return s.outcomes(int(s.number(args[0])))
	}
	switch err := s.do(command, args); {
	case vfs.IsNoSpace(err):
		return []string{"error: no space"} // systems word it differently
	case err != nil:
		return []string{"error: " + err.Error()}
	}
	return nil
}

func (s *session) do(command string, args []string) (err error) {
	arg := func(i int) string {
		if i >= len(args) {
			s.t.Fatalf("%s needs %d arguments", command, i+1)
		}
		return args[i]
	}
	switch command {
	case "mkdir":
		return s.m.MkdirAll(arg(0))
	case "syncdir":
		return s.m.SyncDir(arg(0))
	case "create":
		return s.keep(arg(0))(s.m.Create(arg(0)))
	case "open":
		return s.keep(arg(0))(s.m.Open(arg(0)))
	case "reuse":
		return s.keep(arg(1))(s.m.Reuse(arg(0), arg(1)))
	case "rename":
		return s.m.Rename(arg(0), arg(1))
	case "link":
		return s.m.Link(arg(0), arg(1))
	case "remove":
		return s.m.Remove(arg(0))
	case "lock", "rlock":
		s.locks[arg(0)], err = s.m.Lock(arg(0), command == "rlock")
		return err
	case "unlock":
		return s.locks[arg(0)].Close()
	case "then":
		s.become(args)
		return nil
	case "windows":
		s.m.SetWindowsRules(arg(0) == "on")
		return nil
	case "space":
		s.m.SetSpace(s.number(arg(0)))
		return nil
	}
	f := s.files[arg(0)]
	if f == nil {
		s.t.Fatalf("%s: %s is not open, or there is no such command", command, arg(0))
	}
	return s.doFile(f, command, args[1:])
}

func (s *session) doFile(f vfs.File, command string, args []string) error {
	switch command {
	case "append":
		return f.Append(s.text(args))
	case "append-in-sync":
		s.m.SetLatency(func(op vfs.Op) time.Duration {
			if op.Kind == vfs.OpSync {
				must(s.t, f.Append(s.text(args)))
			}
			return 0
		})
		defer s.m.SetLatency(nil)
		return f.Sync()
	case "skip":
		return f.Skip(s.number(args[0]))
	case "truncate":
		return f.Truncate(s.number(args[0]))
	case "allocate":
		return f.Allocate(s.number(args[0]))
	case "sync":
		return f.Sync()
	case "close":
		return f.Close()
	}
	s.t.Fatalf("unknown command %s", command)
	return nil
}

func (s *session) keep(name string) func(vfs.File, error) error {
	return func(f vfs.File, err error) error {
		if err == nil {
			s.files[name] = f
		}
		return err
	}
}

func (s *session) number(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	must(s.t, err)
	return n
}

// text expands "300a 200b".
func (s *session) text(words []string) []byte {
	var b []byte
	for _, w := range words {
		last := len(w) - 1
		b = append(b, strings.Repeat(w[last:], int(s.number(w[:last])))...)
	}
	return b
}

func (s *session) crash(args []string) *vfs.Mem {
	return s.m.Crash(int(s.number(args[0])), uint64(s.number(args[1])))
}

func (s *session) become(args []string) {
	clear(s.files)
	clear(s.locks)
	if args[0] == "kill" {
		s.m = s.m.Kill()
	} else {
		s.m = s.crash(args[1:])
	}
}

func (s *session) outcomes(seeds int) []string {
	seen := map[string]bool{}
	for seed := range seeds {
		seen[strings.Join(tree(s.t, s.m.Crash(50, uint64(seed))), " | ")] = true
	}
	var all []string
	for o := range seen {
		all = append(all, o)
	}
	slices.Sort(all)
	return all
}

// tree lists every name below the root with what is in it.
func tree(t *testing.T, m *vfs.Mem) []string {
	t.Helper()
	var lines []string
	var walk func(dir string)
	walk = func(dir string) {
		names, err := m.List("/" + dir)
		must(t, err)
		for _, base := range names {
			name := dir + base
			info, err := m.Stat(name)
			must(t, err)
			if info.IsDir {
				lines = append(lines, name+"/")
				walk(name + "/")
				continue
			}
			lines = append(lines, strings.TrimRight(name+": "+runs(bytesOf(t, m, name)), " "))
		}
	}
	walk("")
	if lines == nil {
		return []string{"(nothing)"}
	}
	return lines
}

func bytesOf(t *testing.T, m vfs.FS, name string) []byte {
	t.Helper()
	f, err := m.Open(name)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	return []byte(contentsOf(t, f))
}

// runs writes bytes as "300a 200b". A half sector with anything else than letters
// and zeros is garbage.
func runs(b []byte) string {
	type run struct {
		c byte
		n int
	}
	var all []run
	add := func(c byte, n int) {
		if last := len(all) - 1; last >= 0 && all[last].c == c {
			all[last].n += n
		} else {
			all = append(all, run{c, n})
		}
	}
	for half := range slices.Chunk(b, 256) {
		garbage := bytes.ContainsFunc(half, func(r rune) bool { return r != 0 && (r < 'a' || r > 'z') })
		for _, c := range half {
			switch {
			case garbage:
				c = '?'
			case c == 0:
				c = '0'
			}
			add(c, 1)
		}
	}
	var words []string
	for _, r := range all {
		words = append(words, fmt.Sprintf("%d%c", r.n, r.c))
	}
	return strings.Join(words, " ")
}
