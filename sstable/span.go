package sstable

import "github.com/siftkv/sift/internal/cache"

const (
	// maxSpan is the most that is read ahead, in bytes of the file. From there
	// on the cost of a read call is lost in that of copying.
	maxSpan = 256 << 10
	// minSpan is the first span of a walk that turned out to go on.
	minSpan = 16 << 10
	// spanAfter is the number of blocks of a walk that are read one by one before
	// spans begin: a seek and a short scan should not read ahead.
	spanAfter = 2
)

// blockReader fetches data blocks for one iterator: from the cache, one by one,
// or out of a span of the file that it has read ahead.
type blockReader struct {
	r      *Reader
	bypass bool // for a compaction: spans at once, and no part in the cache

	span    *cache.Block // bytes of the file; nil: none
	spanOff uint64
	size    int // of the next span
	last    int // number of the block returned last, or noBlock
	missed  int // blocks read from the file since the last jump
}

// noBlock is a block number with no neighbours.
const noBlock = -2

func newBlockReader(r *Reader, bypass bool) blockReader {
	return blockReader{r: r, bypass: bypass, last: noBlock}
}

// read returns the i-th block, with a reference for the caller.
func (br *blockReader) read(i int) (*cache.Block, error) {
	backward := i == br.last-1
	if i != br.last+1 && !backward {
		br.missed, br.size = 0, minSpan
	}
	br.last = i

	r := br.r
	h := r.index.handle(i)
	if br.bypass {
		return br.decode(h, backward)
	}
	if b := r.cache.Get(r.src.id, h.Off); b != nil {
		return b, nil
	}
	b, err := br.decode(h, backward)
	if err != nil {
		return nil, err
	}
	return r.cache.Insert(r.src.id, h.Off, b), nil
}

// decode returns the block at h, which the cache does not have.
func (br *blockReader) decode(h Handle, backward bool) (*cache.Block, error) {
	src := &br.r.src
	if !br.inSpan(h) {
		if !br.wantSpan() || h.Len >= maxSpan {
			return src.readBlock(br.r.cache, h)
		}
		if err := br.readSpan(h, backward); err != nil {
			return nil, err
		}
	}
	start := h.Off - br.spanOff
	return src.decodeBlock(br.r.cache, br.span.Data()[start:start+h.Len], h.Off)
}

func (br *blockReader) inSpan(h Handle) bool {
	return br.span != nil && h.Off >= br.spanOff && h.end() <= br.spanOff+uint64(len(br.span.Data()))
}

// wantSpan notes that a block is about to be read from the file, and says
// whether to read beyond it.
func (br *blockReader) wantSpan() bool {
	if br.bypass {
		br.size = maxSpan
		return true
	}
	br.missed++
	return br.missed > spanAfter
}

// readSpan reads a span that begins, or ends, with the block at h.
func (br *blockReader) readSpan(h Handle, backward bool) error {
	n := max(uint64(br.size), h.Len)
	br.size = min(2*br.size, maxSpan)
	lo, hi := h.Off, min(h.Off+n, br.r.footer.tailOff)
	if backward {
		lo, hi = h.end()-min(n, h.end()), h.end()
	}
	br.close()
	span := br.r.cache.Alloc(int(hi - lo))
	if err := br.r.src.readAt(span.Data(), lo); err != nil {
		span.Release()
		return err
	}
	br.span, br.spanOff = span, lo
	return nil
}

// close lets go of the span.
func (br *blockReader) close() {
	if br.span != nil {
		br.span.Release()
		br.span = nil
	}
}
