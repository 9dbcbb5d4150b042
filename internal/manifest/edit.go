package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/siftkv/sift/internal/coding"
	"github.com/siftkv/sift/internal/key"
	"github.com/siftkv/sift/sstable"
)

// FormatVersion is the newest manifest format that this release reads, and the
// one that it writes.
const FormatVersion = 1

// Edit is one atomic change of the database's state. A field that is zero is
// not part of the edit.
type Edit struct {
	Format      uint64 // in the first edit of a manifest: the format of what follows
	LogNum      uint64 // logs with a smaller number are not needed any more
	NextFileNum uint64 // no file number from here on was given out
	LastSeq     uint64 // the largest sequence number in any table
	Closed      ClosedLog
	Deleted     []DeletedTable
	Added       []NewTable
}

// ClosedLog names the newest log of a database that was closed, and how far its
// records reach. The edit that holds it is a manifest's last one.
type ClosedLog struct {
	Num uint64 // 0: the database was not closed
	End int64
}

// NewTable places a table on a level.
type NewTable struct {
	Level int
	Meta  *TableMeta
}

// DeletedTable takes a table off a level. A table that is deleted from one
// level and added to another by the same edit moves.
type DeletedTable struct {
	Level int
	Num   uint64
}

// An edit is a sequence of fields, in any order; uv is an unsigned varint.
//
//	edit    = { field }
//	field   = tag:uv  length:uv  body[length]
//
//	tag       body
//	 2        format:uv
//	 3        closed log = num:uv end:uv
//	 4        log number:uv
//	 6        next file number:uv
//	 8        last sequence number:uv
//	10        deleted table = level:uv num:uv
//	12        added table   = level:uv table
//	14, 16    reserved: keyspace created, keyspace dropped
//	18, 20    reserved: value file added, value file deleted
//	23        reserved: garbage in a value file
//
//	table   = num:uv  id:u64le  size:uv
//	          smallest:bytes  largest:bytes          (length:uv, user key, trailer:u64le)
//	          entries:uv  deletes:uv  range deletes:uv
//	          raw key bytes:uv  raw value bytes:uv
//	          min seq:uv  max seq:uv
//	          filter offset:uv  filter length:uv  tail offset:uv
//	          sum:u64le
//	          { field }                              (to the end of the body)
//
//	tag       body of a table's field
//	 2        reserved: keyspace
//	 4        reserved: value files that the table refers to
//	 7        reserved: earliest and latest expiry time
//
// An odd tag may be skipped by a reader that does not know it. An even one
// changes what the rest means, so that an unknown one is key.ErrVersion.
const (
	tagFormat      = 2
	tagClosed      = 3
	tagLogNum      = 4
	tagNextFileNum = 6
	tagLastSeq     = 8
	tagDeleted     = 10
	tagAdded       = 12

	maySkip = 1 // the bit of a tag that lets an older reader ignore the field
)

// Append appends the encoding of e to dst.
func (e *Edit) Append(dst []byte) []byte {
	for _, f := range e.numbers() {
		if *f.value != 0 {
			dst = appendField(dst, f.tag, binary.AppendUvarint(nil, *f.value))
		}
	}
	var body []byte
	if e.Closed.Num != 0 {
		body = binary.AppendUvarint(body[:0], e.Closed.Num)
		body = binary.AppendUvarint(body, uint64(e.Closed.End))
		dst = appendField(dst, tagClosed, body)
	}
	for _, d := range e.Deleted {
		body = binary.AppendUvarint(body[:0], uint64(d.Level))
		body = binary.AppendUvarint(body, d.Num)
		dst = appendField(dst, tagDeleted, body)
	}
	for _, a := range e.Added {
		body = binary.AppendUvarint(body[:0], uint64(a.Level))
		body = appendTable(body, a.Meta)
		dst = appendField(dst, tagAdded, body)
	}
	return dst
}

// numberField is a field whose body is one number.
type numberField struct {
	tag   uint64
	value *uint64
}

func (e *Edit) numbers() [4]numberField {
	return [4]numberField{
		{tagFormat, &e.Format},
		{tagLogNum, &e.LogNum},
		{tagNextFileNum, &e.NextFileNum},
		{tagLastSeq, &e.LastSeq},
	}
}

func appendField(dst []byte, tag uint64, body []byte) []byte {
	dst = binary.AppendUvarint(dst, tag)
	return coding.AppendBytes(dst, body)
}

func appendTable(dst []byte, t *TableMeta) []byte {
	dst = binary.AppendUvarint(dst, t.Num)
	dst = binary.LittleEndian.AppendUint64(dst, t.ID)
	dst = binary.AppendUvarint(dst, uint64(t.Size))
	dst = appendKey(dst, t.Smallest)
	dst = appendKey(dst, t.Largest)
	for _, n := range t.counts() {
		dst = binary.AppendUvarint(dst, *n)
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(t.Sum))
}

func appendKey(dst []byte, k key.Internal) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(k.User)+key.TrailerLen))
	return k.Append(dst)
}

// counts lists the numbers of a table's record in the order of the format.
func (t *TableMeta) counts() [10]*uint64 {
	return [10]*uint64{
		&t.Entries, &t.Deletes, &t.RangeDeletes,
		&t.RawKeyBytes, &t.RawValueBytes,
		&t.MinSeq, &t.MaxSeq,
		&t.FilterOff, &t.FilterLen, &t.TailOff,
	}
}

// DecodeEdit decodes an edit and owns what it returns. The error is
// key.ErrVersion for something that a newer release wrote, and otherwise a
// *key.CorruptionError that names file and offset.
func DecodeEdit(b []byte, file string, offset int64) (*Edit, error) {
	e := new(Edit)
	err := e.decode(b)
	switch {
	case err == nil:
		return e, nil
	case errors.Is(err, key.ErrVersion):
		return nil, fmt.Errorf("%s at offset %d: %w", file, offset, err)
	}
	return nil, key.Corruptf(file, offset, "manifest edit: %v", err)
}

func (e *Edit) decode(b []byte) error {
	d := coding.NewDecoder(b)
	for d.Len() > 0 {
		tag := d.Uvarint()
		body := coding.NewDecoder(d.Bytes())
		if d.Err() != nil {
			break
		}
		if err := e.decodeField(tag, &body); err != nil {
			return fmt.Errorf("field %d: %w", tag, err)
		}
	}
	return d.Finish()
}

func (e *Edit) decodeField(tag uint64, body *coding.Decoder) error {
	switch tag {
	case tagClosed:
		return e.decodeClosed(body)
	case tagAdded:
		return e.decodeAdded(body)
	case tagDeleted:
		return e.decodeDeleted(body)
	}
	for _, f := range e.numbers() {
		if f.tag == tag {
			*f.value = body.Uvarint()
			return errors.Join(body.Finish(), e.checkFormat())
		}
	}
	return skipUnknown(tag)
}

func (e *Edit) checkFormat() error {
	if e.Format > FormatVersion {
		return fmt.Errorf("%w: manifest format %d, this release reads up to %d; use a newer release",
			key.ErrVersion, e.Format, FormatVersion)
	}
	return nil
}

func skipUnknown(tag uint64) error {
	if tag&maySkip != 0 {
		return nil
	}
	return fmt.Errorf("%w: unknown field %d; use a newer release", key.ErrVersion, tag)
}

func (e *Edit) decodeClosed(d *coding.Decoder) error {
	e.Closed = ClosedLog{Num: d.Uvarint(), End: int64(d.Uvarint())}
	if err := d.Finish(); err != nil {
		return err
	}
	if e.Closed.Num == 0 || e.Closed.End < 0 {
		return fmt.Errorf("log %d was closed at offset %d", e.Closed.Num, e.Closed.End)
	}
	return nil
}

func (e *Edit) decodeDeleted(d *coding.Decoder) error {
	level, num := d.Uvarint(), d.Uvarint()
	if err := d.Finish(); err != nil {
		return err
	}
	if level >= NumLevels {
		return fmt.Errorf("level %d", level)
	}
	e.Deleted = append(e.Deleted, DeletedTable{int(level), num})
	return nil
}

func (e *Edit) decodeAdded(d *coding.Decoder) error {
	level := d.Uvarint()
	t, err := decodeTable(d)
	if err != nil {
		return err
	}
	if level >= NumLevels {
		return fmt.Errorf("level %d", level)
	}
	e.Added = append(e.Added, NewTable{int(level), t})
	return nil
}

func decodeTable(d *coding.Decoder) (*TableMeta, error) {
	t := &TableMeta{Num: d.Uvarint(), ID: d.Uint64(), Size: int64(d.Uvarint())}
	t.Smallest, t.Largest = decodeKey(d), decodeKey(d)
	for _, n := range t.counts() {
		*n = d.Uvarint()
	}
	t.Sum = sstable.Sum(d.Uint64())
	for d.Len() > 0 {
		tag := d.Uvarint()
		d.Bytes()
		if d.Err() != nil {
			break
		}
		if err := skipUnknown(tag); err != nil {
			return nil, err
		}
	}
	if err := d.Finish(); err != nil {
		return nil, err
	}
	if err := checkKinds(t); err != nil {
		return nil, err
	}
	return t, t.check()
}

func decodeKey(d *coding.Decoder) key.Internal {
	k, ok := key.Decode(d.Bytes())
	if !ok {
		d.Fail(coding.ErrMalformed)
	}
	return k.Clone()
}

// checkKinds refuses bounds of a kind that this release cannot read.
func checkKinds(t *TableMeta) error {
	for _, k := range []key.Internal{t.Smallest, t.Largest} {
		if !k.Trailer.Kind().Known() {
			return fmt.Errorf("%w: table %06d holds entries of %v; use a newer release",
				key.ErrVersion, t.Num, k.Trailer.Kind())
		}
	}
	return nil
}
