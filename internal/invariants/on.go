//go:build race || invariants

package invariants

// Enabled says whether costly self-checks run: under the race detector and
// with the build tag "invariants".
const Enabled = true
