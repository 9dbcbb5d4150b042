// Package invariants says whether this build checks its own invariants.
//
// A broken invariant is a bug, not an error: it panics with a message that
// starts with "BUG:". Input from a disk or a caller never causes such a panic.
package invariants
