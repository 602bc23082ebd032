package store

import (
	"cmp"
	"crypto/sha256"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dure/kvcache"
)

const (
	fileSuffix = ".kv"
	tmpSuffix  = ".tmp"
)

// candidate is a file of the folder, its header read or the reason why not.
type candidate struct {
	name string // without the suffix
	head *header
	err  error
	path []kvcache.Token
}

// scan reads the headers of all files, and removes what was left half written.
func (s *Store) scan() ([]*candidate, error) {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return nil, err
	}
	var all []*candidate
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() {
			continue // nothing of ours, and to open a pipe would wait
		}
		if id, ok := idOf(name); ok {
			s.lastFile = max(s.lastFile, id)
		}
		switch filepath.Ext(name) {
		case tmpSuffix:
			if err := os.Remove(filepath.Join(s.cfg.Dir, name)); err != nil {
				return nil, err
			}
			s.counts.Unfinished++
		case fileSuffix:
			all = append(all, &candidate{name: strings.TrimSuffix(name, fileSuffix)})
		}
	}
	// Each goroutine takes every so many-th: opening files is waiting.
	var group sync.WaitGroup
	for k := range s.cfg.Workers {
		group.Go(func() {
			for i := k; i < len(all); i += s.cfg.Workers {
				all[i].load(s.cfg, s.identity)
			}
		})
	}
	group.Wait()
	return all, nil
}

func (c *candidate) load(cfg Config, identity []byte) {
	f, err := os.Open(filepath.Join(cfg.Dir, c.name+fileSuffix))
	if err != nil {
		c.err = err
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		c.err = err
		return
	}
	if c.head, c.err = readHeader(f, info.Size(), identity); c.err == nil {
		c.err = cfg.reads(c.head)
	}
}

// ground is a beginning of paths that some file asks for: its tokens, once they
// are known, and the hash over them, to go on from.
type ground struct {
	path  []kvcache.Token
	known bool
	hash  hash.Hash
}

type groundKey struct {
	at  int
	sum [sumBytes]byte
}

// resolve puts the paths together, from the root down, and proves each by its
// hash. Who finds no ground has no path afterwards. The cost is that of hashing
// every file's own tokens once.
func resolve(all []*candidate) {
	grounds := map[groundKey]*ground{{0, pathSum(nil)}: {known: true, hash: sha256.New()}}
	var at []int // positions that anybody begins at
	for _, c := range all {
		if k := (groundKey{c.head.from, c.head.prefix}); grounds[k] == nil {
			grounds[k] = &ground{}
			at = append(at, c.head.from)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	// What gives others their ground begins before it: in this order it comes first.
	slices.SortFunc(all, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.head.from, b.head.from), cmp.Compare(a.head.to, b.head.to), cmp.Compare(a.name, b.name))
	})
	for _, c := range all {
		if g := grounds[groundKey{c.head.from, c.head.prefix}]; g.known {
			c.follow(g, at, grounds)
		}
	}
}

// follow walks from a ground along a file's own tokens, and notes the grounds it
// comes by.
func (c *candidate) follow(g *ground, at []int, grounds map[groundKey]*ground) {
	from, to := c.head.from, c.head.to
	sum, err := g.hash.(hash.Cloner).Clone()
	if err != nil {
		c.err = err
		return
	}
	path := g.path
	if from < to {
		path = append(slices.Clip(g.path), c.head.own...)
	}
	met := map[int]hash.Hash{}
	done := from
	i, _ := slices.BinarySearch(at, from+1)
	for ; i < len(at) && at[i] <= to; i++ {
		addTokens(sum, path[done:at[i]])
		done = at[i]
		if met[done], err = sum.(hash.Cloner).Clone(); err != nil {
			c.err = err
			return
		}
	}
	addTokens(sum, path[done:to])
	if [sumBytes]byte(sum.Sum(nil)) != c.head.path {
		c.err = ErrDamaged
		return
	}
	c.path = path
	for pos, h := range met {
		if g := grounds[groundKey{pos, [sumBytes]byte(h.Sum(nil))}]; g != nil && !g.known {
			*g = ground{path: path[:pos:pos], known: true, hash: h}
		}
	}
}
