package budget

import (
	"strings"
	"testing"

	"dure/inference"
)

// Tokens that a server puts into its cache cost what that costs, or as much as others
// where nobody said; estimates take the dearer.
func TestWrittenToTheCache(t *testing.T) {
	p := Price{Input: 3e6, Cached: 3e5, Output: 15e6, Write: 375e4}
	u := TokensOf(inference.Usage{PromptTokens: 1000, CachedTokens: 600, CacheWriteTokens: 300, CompletionTokens: 10})
	if u != (Tokens{Uncached: 400, Cached: 600, Output: 10, Written: 300}) || u.All() != 1010 {
		t.Errorf("%+v, %d in all", u, u.All())
	}
	if got, want := p.Of(u), Money(100*3e6+300*375e4+600*3e5+10*15e6); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := (Price{Input: 3e6, Cached: 3e5, Output: 15e6}).Of(u); got != Money(400*3e6+600*3e5+10*15e6) {
		t.Errorf("without a price of its own: %v", got)
	}
	for _, odd := range []inference.Usage{{PromptTokens: 5, CacheWriteTokens: 9}, {PromptTokens: 5, CachedTokens: 5, CacheWriteTokens: 1}, {PromptTokens: 5, CacheWriteTokens: -1}} {
		if u := TokensOf(odd); u.Written < 0 || u.Written > u.Uncached {
			t.Errorf("%+v: %+v", odd, u)
		}
	}
	req := &inference.Request{Messages: []inference.Message{{Role: "user", Content: strings.Repeat("x", 300)}}}
	for _, c := range []struct {
		price   Price
		written bool
	}{{p, true}, {Price{Input: 3e6, Write: 1e6}, false}, {Price{Input: 3e6}, false}} {
		if e := Estimate(req, Rate{Price: c.price}); (e.Written > 0) != c.written || e.Uncached == 0 {
			t.Errorf("%+v: %+v", c.price, e)
		}
	}
	sum := Account{Tokens: u}.plus(Account{Tokens: u}).minus(Account{Tokens: u})
	if sum.Written != 300 {
		t.Errorf("%+v", sum)
	}
	if text := p.shown(); !strings.Contains(text, "$3.750000 put into the cache") {
		t.Errorf("%s", text)
	}
}
