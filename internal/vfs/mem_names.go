package vfs

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// directory maps names to inodes, as they are and as they would be after a
// power cut.
//
//	names    what List shows
//	durable  what the last SyncDir left
//	pending  what happened since, oldest first; each may survive a power cut
//	         while its neighbours do not
type directory struct {
	names   map[string]*inode
	durable map[string]*inode
	pending []nameOp
	lastOp  uint64 // seq of the newest operation
}

// nameOp is one change of a directory. Each is atomic: a rename inside one
// directory happens or not. A rename from one directory to another is two
// changes, each pending in its own directory.
type nameOp struct {
	seq  uint64
	drop string // the name that goes, or ""
	add  string // the name that comes, or replaces one, or ""
	node *inode // what add refers to
}

func newDir() *inode {
	return &inode{dir: &directory{names: map[string]*inode{}, durable: map[string]*inode{}}}
}

func (op nameOp) apply(names map[string]*inode) {
	if op.drop != "" {
		delete(names, op.drop)
	}
	if op.add != "" {
		names[op.add] = op.node
	}
}

// change applies an operation now and leaves it pending. It keeps the counts of
// links.
func (d *directory) change(op nameOp) {
	if n := d.names[op.drop]; n != nil {
		n.links--
	}
	if n := d.names[op.add]; n != nil {
		n.links--
	}
	if op.add != "" {
		op.node.links++
	}
	d.lastOp++
	op.seq = d.lastOp
	op.apply(d.names)
	d.pending = append(d.pending, op)
}

func (d *directory) add(name string, n *inode)      { d.change(nameOp{add: name, node: n}) }
func (d *directory) remove(name string)             { d.change(nameOp{drop: name}) }
func (d *directory) move(from, to string, n *inode) { d.change(nameOp{drop: from, add: to, node: n}) }

// sync makes the operations up to number upTo durable.
func (d *directory) sync(upTo uint64) {
	i := 0
	for ; i < len(d.pending) && d.pending[i].seq <= upTo; i++ {
		d.pending[i].apply(d.durable)
	}
	d.pending = append([]nameOp(nil), d.pending[i:]...)
}

// Rename implements FS.
func (m *Mem) Rename(old, name string) error {
	m.wait(Op{Kind: OpRename, Name: name, Old: old})
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.rename(old, name); err != nil {
		return linkError(OpRename, old, name, err)
	}
	return nil
}

func (m *Mem) rename(old, name string) (*inode, error) {
	from, oldBase, err := m.parent(old)
	if err != nil {
		return nil, err
	}
	to, base, err := m.parent(name)
	if err != nil {
		return nil, err
	}
	n, target := from.names[oldBase], to.names[base]
	if err := m.mayRename(n, target, old, name); err != nil {
		return nil, err
	}
	if n == target {
		return n, nil // two names of one file: POSIX leaves both
	}
	if from == to {
		from.move(oldBase, base, n)
	} else {
		to.add(base, n)
		from.remove(oldBase)
	}
	m.reclaim(target)
	return n, nil
}

func (m *Mem) mayRename(n, target *inode, old, name string) error {
	switch {
	case n == nil:
		return fs.ErrNotExist
	case target != nil && target.dir != nil:
		return fs.ErrExist
	case target != nil && n.dir != nil:
		return errNotDir
	case n.dir != nil && inside(name, old):
		return errIntoSelf
	case m.windows && n != target && (inUse(n) || target != nil && inUse(target)):
		return errInUse
	}
	return nil
}

// inside says whether name is below dir.
func inside(name, dir string) bool {
	clean := func(p string) string { return path.Clean("/" + filepath.ToSlash(p)) }
	return strings.HasPrefix(clean(name), clean(dir)+"/")
}

// inUse says whether a file, or one in or below a directory, is open.
func inUse(n *inode) bool {
	if n.dir != nil {
		for _, child := range n.dir.names {
			if inUse(child) {
				return true
			}
		}
	}
	return n.handles > 0
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.wait(Op{Kind: OpRemove, Name: name})
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.remove(name); err != nil {
		return pathError(OpRemove, name, err)
	}
	return nil
}

func (m *Mem) remove(name string) error {
	d, base, err := m.parent(name)
	if err != nil {
		return err
	}
	n := d.names[base]
	switch {
	case n == nil:
		return fs.ErrNotExist
	case n.dir != nil && len(n.dir.names) > 0:
		return errNotEmpty
	case m.windows && inUse(n):
		return errInUse
	}
	d.remove(base)
	m.reclaim(n)
	return nil
}

// Link implements FS.
func (m *Mem) Link(old, name string) error {
	m.wait(Op{Kind: OpLink, Name: name, Old: old})
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.link(old, name); err != nil {
		return linkError(OpLink, old, name, err)
	}
	return nil
}

func (m *Mem) link(old, name string) error {
	n, err := m.lookupFile(old)
	if err != nil {
		return err
	}
	d, base, err := m.parent(name)
	if err != nil {
		return err
	}
	if d.names[base] != nil {
		return fs.ErrExist
	}
	d.add(base, n)
	return nil
}
