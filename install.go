package sift

import (
	"errors"
	"io/fs"

	"github.com/siftkv/sift/internal/manifest"
)

// install logs an edit in the manifest, makes the version with it current, and
// runs also under mu together with that. When it fails the version is as it was,
// but the edit may be in the manifest all the same: the tables that it adds must
// stay until another edit is logged, or the next Open decides.
func (db *DB) install(edit *manifest.Edit, also func()) error {
	db.installMu.Lock()
	defer db.installMu.Unlock()
	next, err := db.version.Apply(edit)
	if err != nil {
		return err
	}
	edit.NextFileNum = db.nextFile.Load()
	for _, a := range edit.Added {
		edit.LastSeq = max(edit.LastSeq, a.Meta.MaxSeq)
	}
	if err := db.store.Log(edit, next); err != nil {
		db.doubt(edit)
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	also()
	old := db.version
	db.version = next
	db.installLocked(db.memTablesLocked(), next)
	db.noteTablesLocked(old, edit)
	db.endDoubtLocked()
	db.setDelayLocked()
	return nil
}

// currentVersion returns the version that the next edit applies to.
func (db *DB) currentVersion() *manifest.Version {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.version
}

// An obsoleteTable is a table that left the version.
type obsoleteTable struct {
	*manifest.TableMeta
	born, died uint64 // serials of the first state with it and the first without
}

// noteTablesLocked records which tables came and went with the state just
// installed. It needs db.mu.
func (db *DB) noteTablesLocked(old *manifest.Version, edit *manifest.Edit) {
	for _, a := range edit.Added {
		if _, moved := db.born[a.Meta.Num]; !moved {
			db.born[a.Meta.Num] = db.serial
		}
	}
	stays := make(map[uint64]bool, len(edit.Added))
	for _, a := range edit.Added {
		stays[a.Meta.Num] = true
	}
	for _, d := range edit.Deleted {
		if stays[d.Num] {
			continue
		}
		for _, t := range old.Levels[d.Level].Tables {
			if t.Num == d.Num {
				db.obsolete = append(db.obsolete, obsoleteTable{t, db.born[d.Num], db.serial})
			}
		}
		delete(db.born, d.Num)
	}
}

// doubt keeps the tables that an edit brought which failed.
func (db *DB) doubt(edit *manifest.Edit) {
	moved := make(map[uint64]bool, len(edit.Deleted))
	for _, d := range edit.Deleted {
		moved[d.Num] = true
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, a := range edit.Added {
		if !moved[a.Meta.Num] {
			db.doubtful = append(db.doubtful, a.Meta)
		}
	}
}

// endDoubtLocked makes the tables of failed edits obsolete, since an edit was
// logged after them: see manifest.Store.Log. It needs db.mu.
func (db *DB) endDoubtLocked() {
	for _, t := range db.doubtful {
		db.obsolete = append(db.obsolete, obsoleteTable{t, db.serial, db.serial}) // no state had it
	}
	db.doubtful = nil
}

// cleaner removes the files of obsolete tables once no state needs them, until
// the database closes. What is left then, the next Open removes.
func (db *DB) cleaner() {
	defer db.work.Done()
	for {
		tables, ok := db.nextObsolete()
		if !ok {
			return
		}
		for _, t := range tables {
			db.tables.Evict(t.Num)
			db.blocks.EvictTable(t.ID)
			db.remove(db.tablePath(t.Num))
		}
	}
}

// nextObsolete waits for tables that no state needs. It reports false when the
// database closes.
func (db *DB) nextObsolete() ([]obsoleteTable, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for {
		if db.closed.Load() {
			return nil, false
		}
		var out, keep []obsoleteTable
		for _, t := range db.obsolete {
			if db.neededLocked(t) {
				keep = append(keep, t)
			} else {
				out = append(out, t)
			}
		}
		if len(out) > 0 {
			db.obsolete = keep
			return out, true
		}
		db.changed.Wait()
	}
}

// neededLocked reports whether a state that is not drained holds t. It needs
// db.mu.
func (db *DB) neededLocked(t obsoleteTable) bool {
	for _, s := range db.states {
		if t.born <= s.serial && s.serial < t.died {
			return true
		}
	}
	return false
}

// remove removes a file that is not needed. A failure costs space, until the
// next Open tries again, and nothing else.
func (db *DB) remove(path string) {
	if err := db.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		db.failed("remove", err)
	}
}

// retireLog keeps a log that is not needed for the next one to be written over,
// or removes it.
func (db *DB) retireLog(l *logFile) {
	if err := l.Abandon(); err != nil {
		db.failed("close "+l.path, err)
	}
	db.mu.Lock()
	keep := db.spare == "" && l.Err() == nil && !db.closed.Load()
	if keep {
		db.spare = l.path
	}
	db.mu.Unlock()
	if !keep {
		db.remove(l.path)
	}
}

// takeSpareLog returns the path of a log to write over, or "".
func (db *DB) takeSpareLog() string {
	db.mu.Lock()
	defer db.mu.Unlock()
	path := db.spare
	db.spare = ""
	return path
}
