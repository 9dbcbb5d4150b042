package model

import "github.com/siftkv/sift/bloom"

// An Estimate is a database after a load: by the simulation, as the load left it; by
// the formulas, with levels as full as they may be, and on average over the time
// between two compactions of level 0.
type Estimate struct {
	Keys      uint64 `json:"keys"`
	Policy    Policy `json:"policy"`
	Simulated bool   `json:"simulated"`

	Levels int     `json:"levels"` // under level 0
	Runs   float64 `json:"runs"`   // that a lookup may have to ask, level 0's tables included

	Amplification WriteAmplification `json:"write_amplification"` // over all the load
	TableBytes    float64            `json:"table_bytes"`
	Tables        float64            `json:"tables"`
	Space         float64            `json:"space"` // bytes of tables for each byte of the pairs that are there
	FilterBytes   float64            `json:"filter_bytes"`
	// MonkeyBytes is what filters would take with which absent keys cost as many reads
	// as they do where each key gets as many bits.
	MonkeyBytes float64 `json:"filter_bytes_monkey"`

	Uniform Reads `json:"reads_uniform"` // each key has as many bits
	Monkey  Reads `json:"reads_monkey"`  // the same memory where it saves the most reads
}

// NewEstimate returns what a database would be like. What can be simulated in about a
// second is simulated; the formulas say the rest, and all of a policy that the engine
// does not have.
func NewEstimate(c Config, p Policy) (*Estimate, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if p != Levelled || !c.quick() {
		return Formula(c, p)
	}
	r, err := Simulate(c)
	if err != nil {
		return nil, err
	}
	return r.estimate(c), nil
}

// quick reports whether a simulation takes about a second.
func (c *Config) quick() bool {
	const flushes, tables = 5000, 5000
	return c.puts()/c.memTablePuts(0, c.Sequential) <= flushes &&
		float64(c.Keys)*c.pairBytes()/float64(c.TableSize) <= tables
}

// estimate describes a database that was simulated.
func (r *Result) estimate(c Config) *Estimate {
	sizes := r.filterSizes()
	e := &Estimate{
		Keys: c.Keys, Policy: Levelled, Simulated: true,
		Levels: r.Depth(), Runs: float64(len(r.Runs)),
		Amplification: r.Amplification(), TableBytes: r.TableBytes(), Tables: float64(r.Tables()),
		FilterBytes: r.FilterBytes, Uniform: r.Reads(c),
	}
	e.setMonkey(r.MonkeyReads(c))
	e.MonkeyBytes = r.FilterBytes
	if c.BitsPerKey > 0 {
		wasted := e.Uniform.Absent / opening(e.Tables, c.MaxOpenFiles)
		e.MonkeyBytes *= monkeyBits(sizes, c.BitsPerKey, wasted) / c.BitsPerKey
	}
	e.setSpace(c)
	return e
}

// setMonkey notes what [bloom.Allot] comes to. It gives no run more bits than 20 a key,
// and does not know that a small filter is rounded up: where that makes it the worse
// one, bits are left even.
func (e *Estimate) setMonkey(r Reads) {
	if e.Monkey = r; r.Absent > e.Uniform.Absent {
		e.Monkey = e.Uniform
	}
}

func (e *Estimate) setSpace(c Config) {
	if e.Keys > 0 {
		e.Space = e.TableBytes / (float64(e.Keys) * c.pairBytes())
	}
}

// filterSizes returns the runs as [bloom.Allot] wants them.
func (r *Result) filterSizes() []bloom.Run {
	sizes := make([]bloom.Run, len(r.Runs))
	for i, run := range r.Runs {
		sizes[i] = bloom.Run{Keys: uint64(run.Entries), Kind: bloom.Blocked, Weight: run.Covered}
	}
	return sizes
}
