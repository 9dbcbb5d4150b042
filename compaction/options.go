package compaction

// Options say what shape the tree should have. Every value above zero is legal;
// a value that is not means its default.
type Options struct {
	// L0Compact is the number of tables on level 0 from which on they are
	// compacted. A lookup asks each of them. Default 4.
	L0Compact int
	// L0Slow is the number of tables on level 0 at which writers begin to be
	// slowed down. At least L0Compact. Default 12.
	L0Slow int
	// L0Stop is the number of tables on level 0 at which writers wait. At least
	// L0Slow. Default 20.
	L0Stop int
	// BaseLevelSize is the size that one compaction of level 0 is taken to have,
	// in bytes, and with it the unit of all level sizes. Default 256 MiB.
	BaseLevelSize int64
	// Multiplier is how many times larger a level may be than the one above it.
	// At least 2. Default 10.
	Multiplier int
	// TableSize is the size at which an output table ends, in bytes. A table
	// may be larger by the versions of one key. Default 64 MiB.
	TableSize int64
}

const (
	defaultL0Compact     = 4
	defaultL0Slow        = 12
	defaultL0Stop        = 20
	defaultBaseLevelSize = 256 << 20
	defaultMultiplier    = 10
	defaultTableSize     = 64 << 20
)

// WithDefaults returns o with every value that is not set at its default.
func (o Options) WithDefaults() Options {
	setDefault(&o.L0Compact, defaultL0Compact)
	setDefault(&o.L0Slow, defaultL0Slow)
	setDefault(&o.L0Stop, defaultL0Stop)
	setDefault(&o.BaseLevelSize, defaultBaseLevelSize)
	setDefault(&o.Multiplier, defaultMultiplier)
	setDefault(&o.TableSize, defaultTableSize)
	o.Multiplier = max(o.Multiplier, 2)
	// Writers must not wait for a compaction that is not due.
	o.L0Slow = max(o.L0Slow, o.L0Compact)
	o.L0Stop = max(o.L0Stop, o.L0Slow)
	return o
}

func setDefault[T int | int64](v *T, value T) {
	if *v <= 0 {
		*v = value
	}
}
