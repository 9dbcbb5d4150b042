package sift_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/siftkv/sift"
)

// killOptions are those of both the child that is killed and its parent.
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

// childWrite writes until it is killed.
func childWrite(args []string) {
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	round, _ := strconv.Atoi(args[2])
	say("start")
	db, err := sift.Open(args[0], killOptions())
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
	for n := int(last) + 1; ; n++ {
		if err := applyOps(db, killHow(n), killOps(seed, round, n)); err != nil {
			say("error %v", err)
			return
		}
		say("ack %d", n)
	}
}
