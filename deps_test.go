package sift_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What this file checks is not in the files that go test thinks it depends on:
// run it with -count=1.

const module = "github.com/siftkv/sift"

// rows are the packages of the module, lowest first: a package imports only
// packages of lower rows. Tests may import what they like.
var rows = [][]string{
	{"internal/coding", "internal/invariants"},
	{"internal/key", "bloom"},
	{"internal/vfs", "internal/cache", "internal/iterator"},
	{"sstable", "memtable", "wal"},
	{"internal/manifest"},
	{"internal/tablecache"},
	{"compaction"},
	{"."},
	{"bench"},
	{"bench/workload", "bench/model", "bench/sweep"},
	{"bench/report"},
	{"cmd/kvbench"},
}

// libraryModules are what the library needs at run time, beside the standard
// library: these three and nothing else.
var libraryModules = []string{
	"github.com/cespare/xxhash/v2",
	"github.com/golang/snappy",
	"github.com/google/btree",
}

// Every import of one of the module's packages by another goes down the rows, on
// every system, and every import of another module is one of the library's.
func TestImportDirection(t *testing.T) {
	row := make(map[string]int)
	for i, names := range rows {
		for _, name := range names {
			row[name] = i
		}
	}
	used := make(map[string]bool)
	packages := packageImports(t)
	for pkg := range row {
		if _, ok := packages[pkg]; !ok {
			t.Errorf("package %s has a row and no files", pkg)
		}
	}
	for pkg, imports := range packages {
		from, ok := row[pkg]
		if !ok {
			t.Errorf("package %s has no row: give it one here and in the design", pkg)
			continue
		}
		for _, imported := range imports {
			switch name, ours := inModule(imported); {
			case ours && row[name] >= from:
				t.Errorf("%s (row %d) imports %s (row %d): only lower rows may be imported", pkg, from, name, row[name])
			case !ours && !standard(imported):
				used[imported] = true
			}
		}
	}
	for imported := range used {
		if !slices.Contains(libraryModules, imported) {
			t.Errorf("%s is imported outside of tests: only %q are", imported, libraryModules)
		}
	}
	if len(used) < len(libraryModules) {
		t.Errorf("only %v is imported: go.mod asks for more than is needed", used)
	}
}

// What a program that embeds the library links is the library, the three modules
// and the standard library: the three bring nothing along.
func TestRuntimeModules(t *testing.T) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the test binary runs where there is no go command")
	}
	out, err := exec.CommandContext(t.Context(), goCommand, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	got = slices.Compact(got)
	want := append([]string{module}, libraryModules...)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the library needs the modules %q; want %q", got, want)
	}
}

// packageImports returns what each package of the module imports in any of its
// files that is not a test, whatever the system. The packages of nested modules
// are not among them.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	imports := make(map[string][]string)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && otherTree(name):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(name))
		imports[pkg] = slices.Clone(imports[pkg]) // there, even if it imports nothing
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[pkg] = append(imports[pkg], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

// otherTree reports whether a directory's files are no packages of this module.
func otherTree(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	nested, err := filepath.Glob(filepath.Join(dir, "go.mod"))
	return err == nil && len(nested) > 0
}

// inModule returns an import's directory in the module, if it has one.
func inModule(imported string) (dir string, ok bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// standard reports whether an import is of the standard library: its first
// element is no host name.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}
