package workload

import "math"

// pathKeys are the names of files in a tree of directories, some 60 bytes each,
// of which neighbours share all but the last few. A directory holds filesPerDir
// files. Below each top directory the tree has another depth.
//
// Names are made so that the order of the numbers is the order of the paths: at
// each level they ascend with the digit, and none is the beginning of another.
type pathKeys struct {
	numbers
	dirsPerTop uint64
	fanout     [len(tops)]uint64 // at each level below a top directory
}

const filesPerDir = 24

var (
	tops = [...]string{
		"/boot/grub", "/etc/alternatives", "/home/build/projects", "/lib/modules", "/opt/vendor/packages", "/srv/www/static",
		"/usr/include/x86_64-linux-gnu", "/usr/lib/python3/dist-packages", "/usr/share/doc", "/usr/share/locale", "/usr/src/linux-headers", "/var/lib/dpkg",
	}
	depths = [len(tops)]int{2, 1, 5, 4, 3, 4, 3, 4, 2, 3, 6, 2}
	words  = [...]string{
		"accessibility", "backend", "configuration", "devices", "examples", "filesystem", "generated", "handlers", "internal", "kernel",
		"libraries", "management", "network", "objects", "plugins", "resources", "services", "templates", "utilities", "vendor",
	}
	stems      = [...]string{"changelog", "descriptor", "index", "module", "protocol", "schema"}
	extensions = [...]string{".conf", ".h", ".html", ".json", ".py", ".so"}
)

func newPathKeys(n int, seed uint64) *pathKeys {
	k := &pathKeys{numbers: newNumbers(n, seed)}
	dirs := (n + filesPerDir - 1) / filesPerDir
	k.dirsPerTop = uint64((dirs + len(tops) - 1) / len(tops))
	for i, depth := range depths {
		f := uint64(math.Ceil(math.Pow(float64(k.dirsPerTop), 1/float64(depth))))
		k.fanout[i] = max(f, 2)
	}
	return k
}

func (k *pathKeys) Present(dst []byte, i int) []byte { return k.path(dst, k.present(i)) }
func (k *pathKeys) Ordered(dst []byte, r int) []byte { return k.path(dst, 2*uint64(r)) }
func (k *pathKeys) Absent(dst []byte, i int) []byte  { return k.path(dst, k.absent(i)) }

// path appends the path of a number, present or absent.
func (k *pathKeys) path(dst []byte, x uint64) []byte {
	dir, file := x/(2*filesPerDir), x%(2*filesPerDir)
	top := min(dir/k.dirsPerTop, uint64(len(tops)-1)) // what is added goes under the last one
	dst = append(dst, tops[top]...)
	rest := dir - top*k.dirsPerTop
	fanout := k.fanout[top]
	for level := depths[top] - 1; level >= 0; level-- {
		unit := uint64(1)
		for range level {
			unit *= fanout
		}
		digit := rest / unit
		rest -= digit * unit
		dst = append(dst, '/')
		dst = append(dst, words[min(digit*uint64(len(words))/fanout, uint64(len(words)-1))]...)
		dst = appendDecimal(dst, digit, digitsOf(fanout))
	}
	dst = append(dst, '/')
	dst = append(dst, stems[file*uint64(len(stems))/(2*filesPerDir)]...)
	dst = append(dst, '_')
	dst = appendDecimal(dst, file, 2)
	return append(dst, extensions[dir%uint64(len(extensions))]...)
}

// digitsOf returns how many digits the numbers below n have, and room for those
// that are added.
func digitsOf(n uint64) int {
	digits := 2
	for ; n > 10; n /= 10 {
		digits++
	}
	return digits
}
