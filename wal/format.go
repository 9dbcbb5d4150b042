package wal

import (
	"encoding/binary"

	"github.com/siftkv/sift/internal/coding"
)

// A log is records and gaps. All integers are little-endian.
//
//	log     = log-header { gap? ( data | mark ) } [ gap seal ]
//	gap     = bytes of any value up to the next multiple of 512
//
//	record    0      4        8      9          16     20
//	          +------+--------+------+----------+------+---------+
//	          | crc  | length | type | mark     | hcrc | payload |
//	          | u32  | u32    | u8   | u56      | u32  |         |
//	          +------+--------+------+----------+------+---------+
//
//	crc     CRC32C of bytes 4.. of every record of the log so far, this one
//	        included: a record proves that none before it is missing
//	length  bytes of payload
//	type    1 data, 2 seal (no payload), 3 log header, 4 mark (no payload)
//	mark    the log was durable up to this offset, which is the end of a record
//	hcrc    CRC32C of the log's number u64, the record's offset u64, bytes 4..16:
//	        a header proves which log and which place it was written for
//
//	log-header payload
//	          0         4       8      16         24         32            40
//	          +---------+-------+------+----------+----------+-------------+
//	          | version | flags | salt | prev num | prev end | prev synced |
//	          | u32     | u32   | u64  | u64      | u64      | u64         |
//	          +---------+-------+------+----------+----------+-------------+
//
//	flags   1: the file held an older log before
//	salt    random, so that a log that takes a number again after a crash
//	        shares no crc with what that number wrote before
//	prev    the log that this one follows; all zero if there is none
//
// The place of the version and all that comes before it never change.
const (
	formatVersion = 1
	sectorSize    = 512
	headerLen     = 20
	logHeaderLen  = 40
	flagReused    = 1
)

// MaxPayload is the largest payload of a record, in bytes: the largest batch
// and some room for its framing.
const MaxPayload = 1<<30 + 1<<20

type recordType uint8

const (
	typeData      recordType = 1
	typeSeal      recordType = 2
	typeLogHeader recordType = 3
	typeMark      recordType = 4
)

// header is a record's header without its checksums.
type header struct {
	length uint32
	typ    recordType
	mark   int64
}

// codec encodes and checks the headers of one log. It is not safe for
// concurrent use: its scratch space keeps the checksum's input off the heap.
type codec struct {
	base    uint32 // CRC of the log's number
	scratch [20]byte
}

func newCodec(num uint64) codec {
	return codec{base: coding.CRC(binary.LittleEndian.AppendUint64(nil, num))}
}

// hcrc returns the check of the header fields at [4, 16) of a record at off.
func (c *codec) hcrc(off int64, fields []byte) uint32 {
	binary.LittleEndian.PutUint64(c.scratch[:], uint64(off))
	copy(c.scratch[8:], fields)
	return coding.ExtendCRC(c.base, c.scratch[:])
}

// appendHeader appends the header of a record at off, with a crc of zero.
func (c *codec) appendHeader(dst []byte, off int64, h header) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint32(dst, h.length)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.mark)<<8|uint64(h.typ))
	return binary.LittleEndian.AppendUint32(dst, c.hcrc(off, dst[len(dst)-12:]))
}

// parse decodes the header b of a record at off. It reports false for bytes
// that were not written as a header of this log at this place.
func (c *codec) parse(b []byte, off int64) (header, bool) {
	if len(b) < headerLen {
		return header{}, false
	}
	lo, hi, hcrc := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint32(b[16:])
	if lo|hi == 0 && hcrc == 0 {
		return header{}, false // preallocated zeros: no need to sum them
	}
	h := header{length: uint32(lo >> 32), typ: recordType(hi), mark: int64(hi >> 8)}
	return h, hcrc == c.hcrc(off, b[4:16]) && h.mark <= off
}

// PrevLog names the log that another one follows.
type PrevLog struct {
	Num    uint64 // its number, 0 for none
	End    int64  // where it ended when the next log was made, in bytes
	Synced int64  // how much of it was durable then, in bytes
}

// logHeader is the payload of a log's first record.
type logHeader struct {
	version uint32
	flags   uint32
	salt    uint64
	prev    PrevLog
}

func (h logHeader) encode() []byte {
	b := make([]byte, 0, logHeaderLen)
	b = binary.LittleEndian.AppendUint32(b, h.version)
	b = binary.LittleEndian.AppendUint32(b, h.flags)
	b = binary.LittleEndian.AppendUint64(b, h.salt)
	b = binary.LittleEndian.AppendUint64(b, h.prev.Num)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.prev.End))
	return binary.LittleEndian.AppendUint64(b, uint64(h.prev.Synced))
}

// decodeLogHeader decodes a log header. Of a version that is not ours it
// decodes the version only.
func decodeLogHeader(b []byte) (logHeader, error) {
	d := coding.NewDecoder(b)
	h := logHeader{version: d.Uint32()}
	if d.Err() != nil || h.version != formatVersion {
		return h, d.Err()
	}
	h.flags, h.salt = d.Uint32(), d.Uint64()
	h.prev = PrevLog{Num: d.Uint64(), End: int64(d.Uint64()), Synced: int64(d.Uint64())}
	if p := h.prev; h.flags > flagReused || p.Synced < 0 || p.End < p.Synced {
		d.Fail(coding.ErrMalformed)
	}
	return h, d.Finish()
}

// nextSector returns the first sector start at or after off.
func nextSector(off int64) int64 { return (off + sectorSize - 1) &^ (sectorSize - 1) }
