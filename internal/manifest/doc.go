// Package manifest keeps which tables make up a database: their metadata, the
// immutable Version that arranges them in levels and finds a key's candidates,
// the Edit that turns one version into the next, and the MANIFEST file that
// records edits.
package manifest
