package key

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"dure/inference/fetch"
)

// UsageFile is where the usage of the keys of a file is kept.
func UsageFile(path string) string { return strings.TrimSuffix(path, ".json") + ".usage.json" }

// maxAccounts of keys that there are, and that there were, are kept.
const maxAccounts = 2 * MaxKeys

// Usage is what a key did.
type Usage struct {
	Last  time.Time // its latest request; zero for none
	Total Counts
	// Days are at most KeepDays dates ("2026-01-31"), of the server's time zone.
	Days map[string]Counts
}

// ReadUsage returns, by Key.ID, what the keys of a file did, as of a few seconds
// ago where a server runs. A key that did nothing may be missing.
func ReadUsage(path string) (map[string]Usage, error) {
	accounts, err := readUsage(UsageFile(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	usage := map[string]Usage{}
	for id, a := range accounts {
		usage[id] = Usage{a.last, a.total, a.days}
	}
	return usage, nil
}

type usageForm struct {
	Format   int                    `json:"format"`
	Accounts map[string]accountForm `json:"accounts"` // by Key.ID
}

type accountForm struct {
	Name    string            `json:"name"`
	Last    time.Time         `json:"last"`
	Total   Counts            `json:"total"`
	Days    map[string]Counts `json:"days"`
	Windows map[Limit]window  `json:"windows"`
}

func (a account) form() accountForm {
	f := accountForm{a.name, a.last, a.total, a.days, map[Limit]window{}}
	for i, g := range gauges {
		if len(a.windows[i].marks) > 0 {
			f.Windows[g.limit] = a.windows[i]
		}
	}
	return f
}

func (f accountForm) account() account {
	a := account{name: f.Name, last: f.Last, total: f.Total, days: f.Days}
	for i, g := range gauges {
		a.windows[i] = f.Windows[g.limit]
	}
	return a
}

func readUsage(file string) (map[string]account, error) {
	data, _, err := readWhole(file)
	if err != nil {
		return nil, fmt.Errorf("usage of keys: %w", err)
	}
	if err := fetch.CheckFormat(file, data, format); err != nil {
		return nil, fmt.Errorf("usage of keys: %w", err)
	}
	var form usageForm
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, fmt.Errorf("usage of keys: %s: %w", file, err)
	}
	accounts := map[string]account{}
	for id, f := range form.Accounts {
		accounts[id] = f.account()
	}
	return accounts, nil
}

// usableUsage is readUsage for whoever will write the file: nothing where there
// is none; one that cannot be understood is set aside, and said. A file of a later
// dure, or one that cannot be read, is an error.
func usableUsage(file string, log *slog.Logger) (map[string]account, bool, error) {
	accounts, err := readUsage(file)
	var newer *fetch.NewerError
	var path *fs.PathError
	switch {
	case err == nil:
		return accounts, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case errors.As(err, &newer), errors.As(err, &path):
		return nil, false, err
	}
	aside := file + ".unused"
	if renamed := os.Rename(file, aside); renamed != nil {
		return nil, false, errors.Join(err, renamed)
	}
	log.Warn("usage of keys cannot be read and is set aside", "error", err, "path", aside)
	return nil, false, nil
}

// ledger is the file of usage.
type ledger struct {
	file string
	log  *slog.Logger
}

// add puts what was counted since the last time into the file and returns all
// that is in it now. Where there is no file, known is taken for what it held.
func (l ledger) add(ctx context.Context, fresh, known map[string]account, present map[string]bool, now time.Time) (map[string]account, error) {
	f := files(l.file, l.log)
	unlock, err := f.Lock(ctx, lockUsage)
	if err != nil {
		return nil, fmt.Errorf("usage of keys: %w", err)
	}
	defer unlock()
	all, there, err := usableUsage(l.file, l.log)
	if err != nil {
		return nil, err
	}
	if !there {
		all = known
	} else {
		for id, a := range fresh {
			sum := all[id]
			sum.plus(a)
			all[id] = sum
		}
	}
	trim(all, present, now)
	form := usageForm{format, map[string]accountForm{}}
	for id, a := range all {
		form.Accounts[id] = a.form()
	}
	data, err := json.Marshal(form)
	if err == nil {
		err = writeWhole(f, lockUsage, l.file, data)
	}
	if err != nil {
		return nil, fmt.Errorf("usage of keys: %w", err)
	}
	return all, nil
}

// trim forgets what is past, and the accounts of keys that are gone: those of
// which no day is kept, and where there are too many those used longest ago.
func trim(all map[string]account, present map[string]bool, now time.Time) {
	var gone []string
	oldest := dateOf(now.AddDate(0, 0, -KeepDays))
	for id, a := range all {
		a.prune(now)
		for i, w := range a.windows {
			a.windows[i] = w.positive()
		}
		all[id] = a
		if present[id] {
			continue
		}
		if dateOf(a.last) < oldest {
			delete(all, id)
		} else {
			gone = append(gone, id)
		}
	}
	slices.SortFunc(gone, func(a, b string) int {
		return cmp.Or(all[a].last.Compare(all[b].last), strings.Compare(a, b))
	})
	for _, id := range gone[:min(len(gone), max(0, len(all)-maxAccounts))] {
		delete(all, id)
	}
}
