package sift_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/siftkv/sift"
)

// A load is what a child does until it is killed. Parent and child both know it.
type load struct {
	options func() *sift.Options
	ops     func(seed uint64, round, n int) []op // of commit n
	beside  func(db *sift.DB, seed uint64)       // what goes on beside the writes, if anything does
}

func loadNamed(name string) load {
	if name == "soak" {
		return load{options: soakOptions, ops: soakOps, beside: soakBeside}
	}
	return load{options: killOptions, ops: killOps}
}

func killOptions() *sift.Options {
	o := small()
	o.MemTableSize = 32 << 10
	return &o
}

// killOps is what the child writes as commit n of a round.
func killOps(seed uint64, round, n int) []op {
	rnd := rand.New(rand.NewPCG(seed+uint64(round), uint64(n)))
	ops := []op{put("seq", fmt.Sprintf("%d.%d", n, round))}
	for range rnd.IntN(4) {
		key := fmt.Sprintf("key%03d", rnd.IntN(200))
		if rnd.IntN(4) == 0 {
			ops = append(ops, del(key))
		} else {
			ops = append(ops, put(key, crashValue(rnd, n, round)))
		}
	}
	return ops
}

// killHow is how commit n is written: mostly without waiting for the disk.
func killHow(n int) *sift.WriteOptions {
	return pick2(n%16 == 0, sift.Sync, sift.NoSync)
}

// childWrite writes until it is killed. Its arguments are a directory, a seed, a
// round and the name of a load.
func childWrite(args []string) {
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	round, _ := strconv.Atoi(args[2])
	load := loadNamed(args[3])
	say("start")
	db, err := sift.Open(args[0], load.options())
	if err != nil {
		say("error %v", err)
		return
	}
	last, err := lastCommit(db)
	if err != nil {
		say("error %v", err)
		return
	}
	say("open %d", last)
	if load.beside != nil {
		go load.beside(db, seed+uint64(round))
	}
	for n := int(last) + 1; ; n++ {
		if err := applyOps(db, killHow(n), load.ops(seed, round, n)); err != nil {
			say("error %v", err)
			return
		}
		say("ack %d", n)
	}
}
