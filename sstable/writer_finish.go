package sstable

import "fmt"

// Finish writes the tail and makes the file durable. It does not close it.
func (w *Writer) Finish() (Info, error) {
	if w.err != nil {
		return Info{}, w.err
	}
	info, err := w.finish()
	if w.err = err; err != nil {
		return Info{}, err
	}
	w.err = errFinished
	return info, nil
}

func (w *Writer) finish() (Info, error) {
	if !w.data.empty() {
		if err := w.finishData(nil); err != nil {
			return Info{}, err
		}
	}
	w.setBounds()
	w.props.setDesign(w.o)
	ft := footer{id: w.o.ID, tailOff: w.off}
	filter, err := w.writeTail(&ft)
	if err != nil {
		return Info{}, err
	}
	w.out = ft.appendTo(w.out)
	w.off += footerLen
	if err := w.flush(); err != nil {
		return Info{}, err
	}
	if err := w.f.Sync(); err != nil {
		return Info{}, fmt.Errorf("sstable: sync table %016x: %w", w.o.ID, err)
	}
	return Info{
		Properties: w.props, ID: w.o.ID, Size: w.off,
		TailOff: ft.tailOff, Filter: ft.filter, FilterData: filter,
	}, nil
}

// writeTail writes the blocks of the tail, notes their places and returns the
// encoded filter.
func (w *Writer) writeTail(ft *footer) (filter []byte, err error) {
	ft.filter = Handle{Off: w.off}
	if w.filter != nil && w.props.Entries > 0 {
		if filter, err = w.filter.Finish(); err != nil {
			return nil, fmt.Errorf("sstable: filter of table %016x: %w", w.o.ID, err)
		}
		if ft.filter, err = w.writeBlock(filter, roleFilter, NoCompression); err != nil {
			return nil, err
		}
	}
	if ft.index, err = w.writeBlock(w.index.encode(), roleIndex, w.o.Compression); err != nil {
		return nil, err
	}
	ft.rangeDel = Handle{Off: w.off}
	if w.props.RangeDeletes > 0 {
		if ft.rangeDel, err = w.writeBlock(w.ranges.block.finish(), roleRangeDel, w.o.Compression); err != nil {
			return nil, err
		}
	}
	ft.properties, err = w.writeBlock(w.props.encode(), roleProperties, w.o.Compression)
	return filter, err
}

// setDesign notes the options that the table is written with.
func (p *Properties) setDesign(o WriterOptions) {
	p.Compression = o.Compression
	p.BlockSize = uint64(o.BlockSize)
	p.RestartInterval = uint64(o.RestartInterval)
	p.FilterKind, p.FilterBits = o.FilterKind, o.BitsPerKey
}
