package sift_test

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// This file computes the sums in tables and logs from what docs/formats says,
// apart from the code under test.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func crcOf(parts ...[]byte) (crc uint32) {
	for _, p := range parts {
		crc = crc32.Update(crc, castagnoli, p)
	}
	return crc
}

var le = binary.LittleEndian

const tableFooter = 96

// restampTable sets the check of every block, and of the footer, of a table that
// was good before.
func restampTable(before, data []byte) {
	was, is := le.Uint64(before[len(before)-tableFooter+64:]), le.Uint64(data[len(data)-tableFooter+64:])
	blocks := len(before) - tableFooter
	start := 0
	for end := 5; end <= blocks; end++ {
		block := before[start:end]
		if n := len(block) - 4; n > 0 && le.Uint32(block[n:]) == crcOf(block[:n])^tableStamp(was, start) {
			le.PutUint32(data[end-4:], crcOf(data[start:end-4])^tableStamp(is, start))
			start = end
		}
	}
	footer := data[blocks:]
	le.PutUint32(footer[84:], crcOf(footer[:84]))
}

// tableStamp is what is mixed into the check of a block at an offset.
func tableStamp(id uint64, offset int) uint32 {
	const a, b = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	hi, lo := bits.Mul64((id^a)+uint64(offset)*b, a)
	x := hi ^ lo
	return uint32(x ^ x>>32)
}

// restampLog sets the sums of every record of a log that was good before.
func restampLog(before, data []byte, num uint64) {
	const header = 20
	var was, is uint32
	for pos := 0; pos+header <= len(before); {
		end := pos + header + int(le.Uint32(before[pos+4:]))
		if end > len(before) || crc32.Update(was, castagnoli, before[pos+4:end]) != le.Uint32(before[pos:]) {
			if pos%512 == 0 {
				return // neither here nor at the next sector: the log ends
			}
			pos = (pos + 511) / 512 * 512
			continue
		}
		was = le.Uint32(before[pos:])
		place := le.AppendUint64(le.AppendUint64(nil, num), uint64(pos))
		le.PutUint32(data[pos+16:], crcOf(place, data[pos+4:pos+16]))
		covered := min(pos+header+int(le.Uint32(data[pos+4:])), len(data))
		is = crc32.Update(is, castagnoli, data[pos+4:covered])
		le.PutUint32(data[pos:], is)
		pos = end
	}
}
