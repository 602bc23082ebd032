package jinja

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// hostile are templates that would run for very long or use all memory. Each
// must end in ErrLimit.
var hostile = map[string]string{
	"macro_recursion":       `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`,
	"mutual_recursion":      `{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}`,
	"caller_recursion":      `{% macro m() %}{{ caller is defined }}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}`,
	"default_recursion":     `{% macro m(a=m()) %}{% endmacro %}{{ m() }}`,
	"exponential_macros":    `{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(60) }}`,
	"loop_recursion":        `{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}`,
	"nested_loops":          `{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}`,
	"nested_loops_of_text":  `{% set s = 'x' * 99999 %}{% for a in s %}{% for b in s %}{% endfor %}{% endfor %}`,
	"looking_ahead":         `{% for a in range(99999) %}{% for b in range(9999) if b > 9999 %}{% endfor %}{% endfor %}`,
	"big_range":             `{{ range(1000000000)|list }}`,
	"huge_range":            `{{ range(9223372036854775807, -9223372036854775807, -1) }}`,
	"repeat":                `{{ 'a' * 9223372036854775807 }}`,
	"repeat_list":           `{{ [1, 2] * 4611686018427387904 }}`,
	"repeat_twice":          `{% set x = 'a' * 1000000 %}{{ (x * 1000000)|length }}`,
	"doubling":              `{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}`,
	"doubling_plus":         `{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`,
	"doubling_list":         `{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`,
	"doubling_block":        `{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set t %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = t %}{% endfor %}`,
	"doubling_replace":      `{% set ns = namespace(x='aa') %}{% for i in range(99) %}{% set ns.x = ns.x|replace('a', 'aa') %}{% endfor %}`,
	"squaring_replace":      `{% set ns = namespace(x='aa') %}{% for i in range(9) %}{% set ns.x = ns.x|replace('a', ns.x) %}{% endfor %}`,
	"squaring_join":         `{% set ns = namespace(x='aa') %}{% for i in range(9) %}{% set ns.x = ns.x.join(ns.x) %}{% endfor %}`,
	"squaring_map":          `{% set ns = namespace(x='aa') %}{% for i in range(9) %}{% set ns.x = ns.x|map('replace', 'a', ns.x)|join %}{% endfor %}`,
	"doubling_nested":       `{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}`,
	"doubling_nested_json":  `{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}`,
	"doubling_nested_equal": `{% set a = namespace(x=[1]) %}{% set b = namespace(x=[1]) %}{% for i in range(99) %}{% set a.x = [a.x, a.x] %}{% set b.x = [b.x, b.x] %}{% endfor %}{{ a.x == b.x }}`,
	"doubling_nested_order": `{% set a = namespace(x=[1]) %}{% set b = namespace(x=[1]) %}{% for i in range(99) %}{% set a.x = [a.x, a.x] %}{% set b.x = [b.x, b.x] %}{% endfor %}{{ a.x <= b.x }}`,
	"doubling_tuple_key":    `{% set a = namespace(x=(1,)) %}{% for i in range(99) %}{% set a.x = (a.x, a.x) %}{% endfor %}{{ {a.x: 1} }}`,
	"deep_value":            `{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}`,
	"deep_value_json":       `{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x|tojson }}`,
	"deep_value_equal":      `{% set a = namespace(x=[1]) %}{% set b = namespace(x=[1]) %}{% for i in range(9999) %}{% set a.x = [a.x] %}{% set b.x = [b.x] %}{% endfor %}{{ a.x == b.x }}`,
	"deep_key":              `{% set a = namespace(x=(1,)) %}{% for i in range(9999) %}{% set a.x = (a.x,) %}{% endfor %}{{ {a.x: 1} }}`,
	"own_namespace":         `{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}`,
	"own_namespace_in_list": `{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns.x }}`,
	"deep_call":             `{% set ns = namespace() %}{% macro m(x) %}{{ ns.f(x + 1) }}{% endmacro %}{% set ns.f = m %}{{ m(1) }}`,
	"wide_format":           `{{ '%999999999d' % 1 }}`,
	"wide_format_zero":      `{{ '%0999999999d' % 1 }}`,
	"precise_format":        `{{ '%.999999999f' % 1 }}`,
	"wide_braces":           `{{ '{:999999999}'.format(1) }}`,
	"many_wide_formats":     `{% for i in range(99999) %}{{ '%04000d%04000d%04000d' % (1, 2, 3) }}{% endfor %}`,
	"center":                `{{ 'a'|center(9223372036854775807) }}`,
	"ljust":                 `{{ 'a'.ljust(9223372036854775807) }}`,
	"zfill":                 `{{ 'a'.zfill(9223372036854775807) }}`,
	"indent_width":          `{{ 'a\nb'|indent(9223372036854775807) }}`,
	"indent_lines":          `{{ ('\n' * 999999)|indent('x' * 999999, true, true) }}`,
	"indent_json":           `{{ [[1]]|tojson(indent=9223372036854775807) }}`,
	"indent_json_text":      `{{ ([1] * 99999)|tojson(indent='x' * 999999) }}`,
	"lines":                 `{{ ('\n' * 100000000).splitlines()|length }}`,
	"words":                 `{{ ('a ' * 50000000).split()|length }}`,
	"pieces":                `{{ ('a,' * 50000000).split(',')|length }}`,
	"characters":            `{{ ('a' * 100000000)|list|length }}`,
	"escapes":               `{{ ('\x01' * 100000000)|tojson|length }}`,
	"escapes_html":          `{{ ('<' * 100000000)|e|length }}`,
	"fill_batch":            `{{ [1]|batch(9223372036854775807, 'x')|list }}`,
	"slices":                `{{ [1]|slice(99999)|list }}{% for i in range(99999) %}{{ [1]|slice(99999)|list|length }}{% endfor %}`,
	"long_comparisons":      `{% set a = 'x' * 9999999 %}{% set b = a ~ '' %}{% for i in range(99999) %}{% if a == b %}{% endif %}{% endfor %}`,
	"long_searches":         `{% set a = 'x' * 9999999 %}{% for i in range(99999) %}{% if 'y' in a %}{% endif %}{% endfor %}`,
	"long_lengths":          `{% set a = 'x' * 9999999 %}{% for i in range(99999) %}{% if a|length %}{% endif %}{% endfor %}`,
	"long_indexing":         `{% set a = 'x' * 9999999 %}{% for i in range(99999) %}{% if a[9999998] %}{% endif %}{% endfor %}`,
	"long_counts":           `{% set a = 'x' * 9999999 %}{% for i in range(99999) %}{% if a.count('y') %}{% endif %}{% endfor %}`,
	"long_strips":           `{% set a = ' ' * 9999999 %}{% for i in range(99999) %}{% if a.strip() %}{% endif %}{% endfor %}`,
	"long_list_searches":    `{% set a = [1] * 999999 %}{% for i in range(99999) %}{% if 2 in a %}{% endif %}{% endfor %}`,
	"long_sums":             `{% set a = [1] * 99999 %}{% for i in range(99999) %}{% if a|sum %}{% endif %}{% endfor %}`,
	"long_sorts":            `{% set a = range(99999)|list %}{% for i in range(99999) %}{% if a|sort %}{% endif %}{% endfor %}`,
	"output":                `{% set a = 'x' * 9999999 %}{% for i in range(99999) %}{{ a }}{% endfor %}`,
	"output_of_text":        `{% for a in range(99999) %}{% for b in range(999) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}`,
	"many_variables":        `{% set ns = namespace() %}{% for a in range(99999) %}{% for b in range(99999) %}{% set x = [a, b] %}{% set ns.x = dict(a=a, b=b) %}{% endfor %}{% endfor %}`,
	"kept_methods":          `{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = ns.x + ['a'.upper] %}{% endfor %}`,
	"deep_brackets":         strings.Repeat("{{ ", 1) + strings.Repeat("(", 9999) + "1" + strings.Repeat(")", 9999) + " }}",
	"deep_lists":            "{{ " + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + " }}",
	"deep_dicts":            "{{ " + strings.Repeat("{1:", 9999) + "1" + strings.Repeat("}", 9999) + " }}",
	"deep_subscripts":       "{{ " + strings.Repeat("a[", 9999) + "1" + strings.Repeat("]", 9999) + " }}",
	"deep_calls":            "{{ " + strings.Repeat("f(", 9999) + strings.Repeat(")", 9999) + " }}",
	"deep_signs":            "{{ " + strings.Repeat("-", 99999) + "1 }}",
	"deep_nots":             "{{ " + strings.Repeat("not ", 9999) + "1 }}",
	"deep_conditions":       "{{ " + strings.Repeat("1 if 0 else ", 9999) + "1 }}",
	"deep_ifs":              strings.Repeat("{% if 1 %}", 9999) + strings.Repeat("{% endif %}", 9999),
	"deep_elifs":            "{% if 0 %}" + strings.Repeat("{% elif 0 %}", 9999) + "{% endif %}",
	"deep_fors":             strings.Repeat("{% for i in [1] %}", 9999) + strings.Repeat("{% endfor %}", 9999),
	"deep_macros":           strings.Repeat("{% macro m() %}", 9999) + strings.Repeat("{% endmacro %}", 9999),
	"deep_targets":          "{% set " + strings.Repeat("(", 9999) + "a" + strings.Repeat(")", 9999) + " = 1 %}",
	"deep_tests":            "{{ 1 is eq " + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + " }}",
	"long_sum":              "{{ 1" + strings.Repeat("+1", 9999) + " }}",
	"long_and":              "{{ 1" + strings.Repeat(" and 1", 9999) + " }}",
	"long_attributes":       "{{ missing is defined and a" + strings.Repeat(".a", 9999) + " }}{{ []" + strings.Repeat("[:]", 9999) + " }}",
	"long_filters":          "{{ 1" + strings.Repeat("|list", 9) + " if 0 else 1" + strings.Repeat("|string", 9999) + " }}",
	"long_template":         strings.Repeat("x", 9_999_999),
}

func TestHostileTemplatesEnd(t *testing.T) {
	for name, source := range hostile {
		t.Run(name, func(t *testing.T) {
			limits := Limits{Output: 1 << 20, Memory: 8 << 20, Steps: 1_000_000, Depth: 2000}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			compiled, err := Compile(source)
			if err == nil {
				_, err = compiled.Render(nil, limits)
			}
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrLimit) {
				t.Errorf("ends with %v, want a limit", err)
			}
			// What was really allocated, also for what was dropped again, must
			// follow from what was counted: memory, and some for each step.
			if n := after.TotalAlloc - before.TotalAlloc; n > uint64(8*limits.Memory+200*limits.Steps) {
				t.Errorf("allocated %d MiB", n>>20)
			}
		})
	}
}

func TestEachLimitIsExact(t *testing.T) {
	enough := Limits{Output: 10, Memory: 1000, Steps: 100, Depth: 20}
	render := func(source string, l Limits) error {
		compiled, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		_, err = compiled.Render(nil, l)
		return err
	}
	for _, c := range []struct {
		source string
		lower  func(*Limits)
	}{
		{`0123456789`, func(l *Limits) { l.Output = 9 }},
		{`{{ ('a' * 100)|length }}`, func(l *Limits) { l.Memory = 99 }},
		{`{% for i in 'abcde' %}{{ 1 }}{% endfor %}`, func(l *Limits) { l.Steps = 11 }},
		{`{{ [[[[1]]]] is defined }}`, func(l *Limits) { l.Depth = 5 }},
	} {
		if err := render(c.source, enough); err != nil {
			t.Errorf("%s: %v", c.source, err)
		}
		l := enough
		c.lower(&l)
		if err := render(c.source, l); !errors.Is(err, ErrLimit) {
			t.Errorf("%s with %+v: %v, want a limit", c.source, l, err)
		}
	}
}

// Nothing that a template can name reads or changes anything outside of it.
func TestTemplatesCannotChangeWhatTheyAreGiven(t *testing.T) {
	inner := NewDict()
	inner.Set("k", "v")
	list := NewList(int64(1), inner)
	m := &machine{limits: DefaultLimits()}
	before, err := m.repr(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		`{{ l.append(1) }}`, `{{ l.clear() }}`, `{{ l.insert(0, 1) }}`, `{{ l.sort() }}`, `{{ l.reverse() }}`, `{{ l.pop() }}`, `{{ l.extend(l) }}`, `{{ l.remove(1) }}`,
		`{{ l[1].update(a=1) }}`, `{{ l[1].pop('k') }}`, `{{ l[1].clear() }}`, `{{ l[1].setdefault('a', 1) }}`, `{{ l[1].popitem() }}`,
		`{% set l[0] = 2 %}`, `{% set l.x = 2 %}`, `{% set d = l[1] %}{% set d.k = 2 %}`,
		`{% include '/etc/passwd' %}`, `{% import 'os' as os %}`, `{{ l.__class__.__base__.__subclasses__() }}`, `{{ self.__init__() }}`, `{{ ''['__class__']['__mro__'] }}`,
	} {
		compiled, err := Compile(source)
		if err == nil {
			_, err = compiled.Render(map[string]Value{"l": list}, DefaultLimits())
		}
		if err == nil {
			t.Errorf("%s is not refused", source)
		}
	}
	compiled, err := Compile(`{{ l|reverse|list }}{{ l + [2] }}{{ l[1]|dictsort }}{{ l|sort(attribute='x') if 0 }}{{ l|batch(1, 'x')|list }}{{ dict(l[1], z=1) }}{{ [2, 1]|sort }}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compiled.Render(map[string]Value{"l": list}, DefaultLimits()); err != nil {
		t.Fatal(err)
	}
	if after, err := m.repr(list); after != before || err != nil {
		t.Errorf("a template changed its variables from %s to %s (%v)", before, after, err)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	for source, want := range map[string]string{
		"a\nb {{ 1 + }}":      `line 2: unexpected "}}", expected an expression`,
		"a\n\n{% if x %}":     "line 3: the template ends where elif or else or endif is missing",
		"a\n{% nope %}":       "line 2: unknown tag nope",
		"a\r\nb\r\n{{ x.y }}": "line 3: 'x' is undefined",
		"{% macro m() %}\n{{ x.y }}\n{% endmacro %}\n{{ m() }}": "line 2: 'x' is undefined",
		"{% for i in [1] %}\n\n{{ i.a.b }}{% endfor %}":         "line 3: 'int object' has no attribute 'a'",
	} {
		compiled, err := Compile(source)
		if err == nil {
			_, err = compiled.Render(nil, DefaultLimits())
		}
		var e *Error
		if !errors.As(err, &e) || err.Error() != want {
			t.Errorf("%q: %v, want %s", source, err, want)
		}
	}
}

func TestHostFunctionsErrorsAreFound(t *testing.T) {
	sentinel := errors.New("no")
	compiled, err := Compile("\n{% if f('a', 2) %}{% endif %}")
	if err != nil {
		t.Fatal(err)
	}
	_, err = compiled.Render(map[string]Value{"f": NewFunc("f", func(args ...Value) (Value, error) {
		if len(args) != 2 || args[0] != "a" || args[1] != int64(2) {
			t.Errorf("called with %v", args)
		}
		return nil, sentinel
	})}, DefaultLimits())
	var e *Error
	if !errors.Is(err, sentinel) || !errors.As(err, &e) || e.Line != 2 {
		t.Errorf("%v, want the function's error on line 2", err)
	}
}
