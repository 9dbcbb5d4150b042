package sift_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/siftkv/sift"
	"github.com/siftkv/sift/internal/vfs"
)

// Transfers between accounts keep the total: in every scan, in every snapshot,
// which shows the same twice, and in what a kill or a power cut leaves at any
// moment.
func TestP206_BankTotal(t *testing.T) {
	defer watchdog(time60, t.Name)()
	const accounts, start, transfers = 200, 100, 400
	disk := sift.NewMemFS()
	o := small()
	o.FS = disk
	db := open(t, "db", &o)
	bank := newBank(accounts)
	b := db.NewBatch()
	for i := range accounts {
		must(t, b.Put(accountKey(i), fmt.Append(nil, start)))
	}
	must(t, db.Apply(b, nil))
	total := func(r reader) error { return bankTotal(r, accounts, accounts*start) }
	crashes := uint64(0)
	stop := beside(t,
		func() error { return total(db) },
		func() error { return sameTwice(db, total) },
		func() error {
			crashes++
			return afterCrash(disk, o, crashes, total)
		},
		func() error { return errors.Join(db.Flush(), db.Compact(nil, nil)) },
	)
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(206, seed))
		wg.Go(func() {
			for range transfers {
				if err := bank.transfer(db, rnd); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	stop()
	must(t, total(db))
	db = reopen(t, db, "db", &o)
	must(t, total(db))
	if crashes == 0 {
		t.Error("no crash was tried")
	}
}

// sameTwice reads a snapshot twice.
func sameTwice(db *sift.DB, total func(reader) error) error {
	s := db.NewSnapshot()
	defer s.Close() // it cannot fail
	before, err := scan(s, nil, nil)
	if err != nil {
		return err
	}
	if err := total(s); err != nil {
		return err
	}
	after, err := scanBack(s, nil, nil)
	slices.Reverse(after)
	return errors.Join(err, before.diff(after))
}

// afterCrash opens what the n-th crash leaves of a disk.
func afterCrash(disk *vfs.Mem, o sift.Options, n uint64, total func(reader) error) error {
	left := disk.Kill()
	if n%2 == 0 {
		left = disk.Crash(int(n*25%125), n)
	}
	o.FS = left
	db, err := sift.Open("db", &o)
	if err != nil {
		return fmt.Errorf("crash %d: %w", n, err)
	}
	if err := errors.Join(total(db), db.Close()); err != nil {
		return fmt.Errorf("crash %d: %w", n, err)
	}
	return nil
}

type bank []sync.Mutex

func newBank(n int) bank { return make(bank, n) }

func accountKey(i int) []byte { return fmt.Appendf(nil, "account%04d", i) }

// transfer moves a sum between two accounts, whose locks it holds meanwhile.
func (b bank) transfer(db *sift.DB, rnd *rand.Rand) error {
	from, to := rnd.IntN(len(b)), rnd.IntN(len(b))
	if from == to {
		return nil
	}
	for _, i := range []int{min(from, to), max(from, to)} {
		b[i].Lock()
		defer b[i].Unlock()
	}
	have, err := balance(db, from)
	if err != nil {
		return err
	}
	other, err := balance(db, to)
	if err != nil {
		return err
	}
	sum := rnd.IntN(have + 1)
	batch := db.NewBatch()
	return errors.Join(
		batch.Put(accountKey(from), fmt.Append(nil, have-sum)),
		batch.Put(accountKey(to), fmt.Append(nil, other+sum)),
		db.Apply(batch, sift.NoSync),
	)
}

func balance(db *sift.DB, i int) (int, error) {
	v, err := db.Get(accountKey(i))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(v))
}

func bankTotal(r reader, accounts, want int) error {
	v, err := scan(r, nil, nil)
	if err != nil {
		return err
	}
	sum := 0
	for _, p := range v {
		n, err := strconv.Atoi(p.value)
		if err != nil {
			return err
		}
		sum += n
	}
	if len(v) != accounts || sum != want {
		return fmt.Errorf("%d accounts hold %d, want %d and %d", len(v), sum, accounts, want)
	}
	return nil
}
