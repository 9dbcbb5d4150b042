package vfs

import "testing"

// A clone's bytes stay what they were, whatever happens to the file that they
// were shared with: here the file is cut short and cloned again before it is
// written to, so that the new bytes fit where the first clone's lie.
func TestCloneSurvivesTruncationAndSecondClone(t *testing.T) {
	for name, clone := range map[string]func(*Mem) *Mem{
		"kill":  func(m *Mem) *Mem { return m.Kill() },
		"crash": func(m *Mem) *Mem { return m.Crash(100, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			m := NewMem()
			write := func(s string) {
				f, err := m.Create("f")
				if err != nil {
					t.Fatal(err)
				}
				_ = clone(m) // of the empty file
				if err := f.Append([]byte(s)); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			write("first")
			early := clone(m)
			write("other")
			f, err := early.Open("f")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got := make([]byte, 5)
			if _, err := f.ReadAt(got, 0); err != nil || string(got) != "first" {
				t.Errorf("the clone reads %q, %v; want %q", got, err, "first")
			}
		})
	}
}
