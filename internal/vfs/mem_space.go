package vfs

import "math"

// maxMemFile is the largest file: what a slice can hold on any system, and far
// below where sums of offsets overflow.
const maxMemFile = min(1<<36, math.MaxInt/2)

// spaceOf is the space that a file of n bytes takes. Zeros that were allocated
// count like any others.
func spaceOf(n int64) int64 { return (n + sectorSize - 1) / sectorSize * sectorSize }

// room returns the size to which a file may grow.
func (m *Mem) room(n *inode) int64 {
	if m.space < 0 {
		return maxMemFile
	}
	return min(maxMemFile, spaceOf(n.file.size)+max(0, m.space-m.used))
}

// charge accounts for a file that is about to have size bytes.
func (m *Mem) charge(n *inode, size int64) {
	m.used += spaceOf(size) - spaceOf(n.file.size)
}

func (m *Mem) resize(n *inode, size int64) {
	m.charge(n, size)
	n.file.truncate(size)
}

// release gives up one handle.
func (m *Mem) release(n *inode) {
	n.handles--
	m.reclaim(n)
}

// reclaim returns the space of a file that nothing refers to any more, except a
// power cut: its name may come back, so its bytes stay. n may be nil.
func (m *Mem) reclaim(n *inode) {
	if n != nil && n.file != nil && n.links == 0 && n.handles == 0 {
		m.used -= spaceOf(n.file.size)
	}
}

// inodes returns every inode that has a name. The caller holds mu.
func (m *Mem) inodes() []*inode {
	seen := map[*inode]bool{m.root: true}
	all := []*inode{m.root}
	for i := 0; i < len(all); i++ {
		if all[i].dir == nil {
			continue
		}
		for _, n := range all[i].dir.names {
			if !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	return all
}
