package sift_test

import (
	"reflect"
	"testing"

	"go.uber.org/goleak"

	"github.com/siftkv/sift"
)

// callAll calls every exported method of a value with ordinary arguments, twice,
// Close last, and hands what each returned to check. A method that is added later is called
// too, or fails the test by an argument that is not known here.
func callAll(t *testing.T, on any, check func(name string, results []reflect.Value)) {
	t.Helper()
	v := reflect.ValueOf(on)
	names := []string{}
	for i := range v.NumMethod() {
		if name := v.Type().Method(i).Name; name != "Close" {
			names = append(names, name)
		}
	}
	for _, name := range append(names, "Close") {
		m := v.MethodByName(name)
		var args []reflect.Value
		for j := range m.Type().NumIn() {
			arg, ok := map[reflect.Type]any{
				reflect.TypeFor[[]byte]():             []byte("k"),
				reflect.TypeFor[*sift.WriteOptions](): sift.NoSync,
				reflect.TypeFor[*sift.IterOptions]():  &sift.IterOptions{},
				reflect.TypeFor[*sift.Batch]():        new(sift.Batch),
			}[m.Type().In(j)]
			if !ok {
				t.Fatalf("%s takes a %v: say here which one to call it with", name, m.Type().In(j))
			}
			args = append(args, reflect.ValueOf(arg))
		}
		for range 2 {
			check(name, m.Call(args))
		}
	}
}

// lastError is the error that a method returned; none says that it returns none.
func lastError(results []reflect.Value) (none bool, err error) {
	if len(results) == 0 || results[len(results)-1].Type() != reflect.TypeFor[error]() {
		return true, nil
	}
	err, _ = reflect.TypeAssert[error](results[len(results)-1])
	return false, err
}

// Every exported method of a database, and of what a closed one gives out, is
// ErrClosed after Close and after a second one, without a panic. Closing a reader
// again does nothing.
func TestEveryMethodAfterClose(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	db := openMem(t, small())
	must(t, db.Put([]byte("k"), []byte("v"), nil))
	it, snapshot, left := iterOver(t, db, nil, nil), db.NewSnapshot(), db.NewSnapshot()
	leftIter := iterOver(t, db, nil, nil)
	must(t, it.Close(), snapshot.Close())
	if err := db.Close(); err == nil {
		t.Error("no error from Close with an iterator and a snapshot open")
	}
	closed := func(name string, results []reflect.Value) {
		if none, err := lastError(results); !none {
			wantError(t, name, err, sift.ErrClosed)
		}
	}
	callAll(t, db, closed)
	for name, s := range map[string]*sift.Snapshot{"left open": left, "of a closed database": db.NewSnapshot()} {
		callAll(t, s, func(method string, results []reflect.Value) {
			if method != "Close" {
				closed("snapshot "+name+": "+method, results)
			}
		})
	}
	callAll(t, snapshot, func(name string, results []reflect.Value) {
		_, err := lastError(results)
		if name == "Close" {
			must(t, err)
		} else {
			wantError(t, "closed snapshot: "+name, err, sift.ErrReleased)
		}
	})
	leftIter.Next() // an iterator notices when it is moved
	for _, it := range []*sift.Iterator{it, leftIter} {
		callAll(t, it, func(name string, results []reflect.Value) {
			if name == "Error" {
				closed("iterator "+name, results)
			}
			if len(results) > 0 && results[0].Kind() == reflect.Bool && results[0].Bool() {
				t.Errorf("closed iterator: %s is true", name)
			}
		})
	}
}

// The calls that other tests make of every method leave none out.
func TestMethodsAreComplete(t *testing.T) {
	named := map[string]bool{"Close": true, "NewBatch": true, "NewSnapshot": true} // the others' subject and means
	for _, m := range methods() {
		named[m.name] = true
	}
	for prefix, of := range map[string]reflect.Type{"": reflect.TypeFor[*sift.DB](), "snapshot ": reflect.TypeFor[*sift.Snapshot]()} {
		for i := range of.NumMethod() {
			if name := of.Method(i).Name; !named[name] && !named[prefix+name] {
				t.Errorf("methods() has no call of %v.%s", of, name)
			}
		}
	}
}
