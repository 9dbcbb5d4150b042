package workload

// Settings are those that every store gets, as far as it has them. They are
// stated here and nowhere else. Blocks are compressed with Snappy.
type Settings struct {
	BlockSize     int     // bytes of a table's block before compression
	TableSize     int64   // bytes at which a table ends
	MemTableSize  int64   // bytes
	CacheSize     int64   // bytes of the block cache
	BaseLevelSize int64   // bytes of the first level below 0 that holds data
	BitsPerKey    float64 // of the filters
	Compactions   int     // at once
	NoCompaction  bool    // but for those that are asked for
	Sync          bool    // writes are to come that wait for the device
}

// Defaults returns the settings of a comparison.
func Defaults() Settings {
	return Settings{
		BlockSize:     4 << 10,
		TableSize:     64 << 20,
		MemTableSize:  64 << 20,
		CacheSize:     64 << 20,
		BaseLevelSize: 256 << 20,
		BitsPerKey:    10,
		Compactions:   1,
	}
}
