package sift_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/siftkv/sift"
)

// A linearClient makes calls of all kinds on random groups, and records them.
type linearClient struct {
	run    *linearRun
	db     *sift.DB
	number int
	rnd    *rand.Rand
	group  int // of the present call
	reads  int // of single keys
	seen   map[[2]int]int
}

// linearReader is a DB or a Snapshot.
type linearReader interface {
	reader
	AppendGet(dst, key []byte) ([]byte, error)
}

// step makes one call.
func (c *linearClient) step() error {
	c.group = c.rnd.IntN(c.run.groups)
	if c.rnd.IntN(4) == 0 {
		runtime.Gosched() // clients take turns more often than the scheduler would have them
	}
	switch c.rnd.IntN(14) {
	case 0, 1, 2, 3:
		return c.write(1)
	case 4, 5:
		return c.write(2 + c.rnd.IntN(groupKeys-1))
	case 6, 7, 8:
		return c.readOne(c.get)
	case 9:
		return c.readOne(c.appendGet)
	case 10:
		return c.readOne(c.has)
	case 11:
		return c.readAll()
	default:
		return c.snapshot()
	}
}

// maintain makes one of the calls that move data but change none.
func (c *linearClient) maintain() error {
	switch c.rnd.IntN(6) {
	case 0:
		return c.db.Flush()
	case 1:
		return c.db.Compact(nil, nil)
	default:
		begin := c.run.clock.Add(1)
		err := c.db.SyncWAL()
		c.run.record(linearCall{client: c.number, group: -1, begin: begin, end: c.run.clock.Add(1), call: groupCall{kind: callSync}})
		return err
	}
}

// write puts or deletes n keys in one commit.
func (c *linearClient) write(n int) error {
	written, ops := nothing(), []op{}
	for _, k := range c.rnd.Perm(groupKeys)[:n] {
		written[k] = absent
		o := del(string(linearKey(c.group, k)))
		if c.rnd.IntN(4) > 0 {
			written[k] = int(c.run.numbers.Add(1))
			o = put(o.key, string(linearValue(written[k])))
		}
		ops = append(ops, o)
	}
	how := pick(c.rnd, nil, sift.Sync, sift.NoSync, sift.NoSync, sift.NoSync)
	call := linearCall{client: c.number, group: c.group, begin: c.run.clock.Add(1)}
	err := c.run.mutant.apply(c.db, how, ops)
	call.end = c.run.clock.Add(1)
	call.call = groupCall{kind: callWrite, write: written, sync: how != sift.NoSync}
	c.run.record(call)
	return err
}

// readOne reads a random key in the given way.
func (c *linearClient) readOne(read func(r linearReader, k int) (int, error)) error {
	k := c.rnd.IntN(groupKeys)
	call := linearCall{client: c.number, group: c.group, begin: c.run.clock.Add(1), found: nothing()}
	var err error
	call.found[k], err = read(c.db, k)
	call.found[k] = c.run.mutant.stale(c, k, call.found[k])
	call.end = c.run.clock.Add(1)
	c.run.record(call)
	return err
}

func (c *linearClient) get(r linearReader, k int) (int, error) {
	v, err := r.Get(linearKey(c.group, k))
	if errors.Is(err, sift.ErrNotFound) {
		return absent, nil
	}
	if err != nil {
		return 0, err
	}
	return linearNumber(v)
}

func (c *linearClient) appendGet(r linearReader, k int) (int, error) {
	v, err := r.AppendGet([]byte("before "), linearKey(c.group, k))
	v, kept := bytes.CutPrefix(v, []byte("before "))
	if !kept {
		return 0, fmt.Errorf("AppendGet lost what it should append to")
	}
	if errors.Is(err, sift.ErrNotFound) {
		return absent, nil
	}
	if err != nil {
		return 0, err
	}
	return linearNumber(v)
}

func (c *linearClient) has(r linearReader, k int) (int, error) {
	there, err := r.Has(linearKey(c.group, k))
	return pick2(there, present, absent), err
}

// readAll reads a group through an iterator, which shows what there was when it
// was made.
func (c *linearClient) readAll() error {
	call := linearCall{client: c.number, group: c.group, begin: c.run.clock.Add(1)}
	it, err := c.db.NewIter(c.bounds())
	call.end = c.run.clock.Add(1)
	if err != nil {
		return err
	}
	call.found, err = c.walk(it, c.rnd.IntN(2) == 0)
	c.run.record(call)
	return err
}

func (c *linearClient) bounds() *sift.IterOptions {
	return &sift.IterOptions{LowerBound: linearKey(c.group, 0), UpperBound: linearKey(c.group, groupKeys)}
}

// scan reads a group and records nothing.
func (c *linearClient) scan(r reader, backward bool) (content, error) {
	it, err := r.NewIter(c.bounds())
	if err != nil {
		return content{}, err
	}
	return c.walk(it, backward)
}

// walk reads a group with an iterator, and closes it.
func (c *linearClient) walk(it *sift.Iterator, backward bool) (found content, err error) {
	first, next := it.First, it.Next
	if backward {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok && err == nil; ok = next() {
		k := int(it.Key()[len(it.Key())-1] - '0')
		found[k], err = linearNumber(it.Value())
	}
	return found, errors.Join(err, it.Error(), it.Close())
}

// snapshot reads a group twice, key by key and by a scan: what it shows is what
// there was when it was taken, whatever was written since.
func (c *linearClient) snapshot() error {
	call := linearCall{client: c.number, group: c.group, begin: c.run.clock.Add(1)}
	s := c.db.NewSnapshot()
	call.end = c.run.clock.Add(1)
	defer s.Close() // it cannot fail
	var r linearReader = s
	if c.run.mutant.loose {
		r = c.db
	}
	for k := range groupKeys {
		var err error
		if call.found[k], err = pick(c.rnd, c.get, c.appendGet)(r, k); err != nil {
			return err
		}
	}
	c.run.record(call)
	again, err := c.scan(s, c.rnd.IntN(2) == 0)
	if err == nil && again != call.found && !c.run.mutant.loose {
		err = fmt.Errorf("a snapshot holds %v, and then %v", call.found, again)
	}
	return errors.Join(err, s.Close())
}
