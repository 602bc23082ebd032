package jinja
import ("testing";"time";"fmt")
func TestProf(t *testing.T) {
	for name, source := range hostile {
		compiled, err := Compile(source)
		start := time.Now()
		if err == nil { _, err = compiled.Render(nil, DefaultLimits()) }
		if d := time.Since(start); d > time.Second { fmt.Println(name, d) }
	}
}
