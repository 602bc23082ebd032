//go:build oracle

package jinja

import (
	"errors"
	"testing"
)

// The templates of TestHostileTemplatesEnd end under the limits of the product,
// too. This takes half a minute.
func TestHostileTemplatesEndUnderTheDefaultLimits(t *testing.T) {
	for name, source := range hostile {
		compiled, err := Compile(source)
		if err == nil {
			_, err = compiled.Render(nil, DefaultLimits())
		}
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s ends with %v, want a limit", name, err)
		}
	}
}
