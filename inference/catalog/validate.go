package catalog

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Roles are what models are meant for.
var Roles = []string{"demo", "test", "lead", "planner", "worker", "voice"}

var (
	nameRE   = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	sha256RE = regexp.MustCompile(`^[0-9a-f]{64}$`)
	// packageRE and versionRE also keep an entry from passing options to pip.
	packageRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	versionRE = regexp.MustCompile(`^[0-9][A-Za-z0-9.!+_-]*$`)
)

// validate checks what the types do not say.
func (w *walker) validate(c *Catalog) {
	first := map[string]int{}
	for i, e := range c.Entries {
		at := fmt.Sprintf("models[%d]", i)
		w.validateEntry(e, at)
		if e.Name == "" {
			continue
		}
		line := w.line(at + ".name")
		if other, ok := first[e.Name]; ok {
			w.complain(line, "%s.name: %q is there twice, first in line %d", at, e.Name, other)
		} else {
			first[e.Name] = line
		}
	}
}

// need complains about a field that is missing or does not satisfy ok.
func (w *walker) need(path string, missing, ok bool, want string) {
	switch {
	case missing:
		w.complain(w.line(path), "%s is missing: %s", path, want)
	case !ok:
		w.complain(w.line(path), "%s: want %s", path, want)
	}
}

func (w *walker) validateEntry(e Entry, at string) {
	w.need(at+".name", e.Name == "", nameRE.MatchString(e.Name), "lower-case letters, digits, '.', '_' and '-'")
	w.need(at+".licence", e.Licence == "", true, "the licence's SPDX identifier or name")
	fetched := len(e.Source.wheels()) > 0 && e.Source.Path == ""
	w.need(at+".sha256", e.SHA256 == "" && fetched, e.SHA256 == "" || sha256RE.MatchString(e.SHA256), "64 hexadecimal digits in lower case")
	w.need(at+".bytes", e.Bytes == 0 && fetched, e.Bytes >= 0, "the file's size in bytes")
	w.need(at+".roles", len(e.Roles) == 0, true, "a list of "+strings.Join(Roles, ", "))
	for i, role := range e.Roles {
		w.need(fmt.Sprintf("%s.roles[%d]", at, i), false, slices.Contains(Roles, role),
			fmt.Sprintf("one of %s, found %q%s", strings.Join(Roles, ", "), role, didYouMean(role, Roles)))
	}
	w.validateSource(e.Source, at+".source")
	w.validateDefaults(e.Defaults, at+".defaults")
}

func (w *walker) validateSource(s Source, at string) {
	given := 0
	for _, there := range []bool{s.PyPI != nil, len(s.Parts) > 0, s.Path != ""} {
		if there {
			given++
		}
	}
	switch {
	case given != 1:
		w.complain(w.line(at), "%s: want exactly one of pypi, pypi_parts and path", at)
	case s.Path != "":
		w.need(at+".path", false, filepath.IsAbs(s.Path) && strings.HasSuffix(s.Path, ".gguf"), "the absolute path of a .gguf file")
	case s.PyPI != nil:
		w.validateWheel(*s.PyPI, at+".pypi")
		w.need(at+".pypi.member", s.PyPI.Member == "", filepath.IsLocal(s.PyPI.Member) && strings.HasSuffix(s.PyPI.Member, ".gguf"), "the path of a .gguf file in the wheel")
	default:
		w.validateParts(s.Parts, at+".pypi_parts")
	}
}

// validateParts also finds a part that is listed twice: the copied lines of the
// part before are the likeliest slip, and would be found only after all of them
// were downloaded.
func (w *walker) validateParts(parts []PyPI, at string) {
	w.need(at, false, len(parts) > 1, "two parts or more; a file in one wheel is pypi")
	type piece struct{ wheel, member string }
	first := map[piece]int{}
	for i, p := range parts {
		at := fmt.Sprintf("%s[%d]", at, i)
		w.validateWheel(p, at)
		w.need(at+".member", p.Member == "", filepath.IsLocal(p.Member), "the path of the part in the wheel")
		this := piece{p.Wheel, p.Member}
		if line, ok := first[this]; ok {
			w.complain(w.line(at), "%s: this part is there twice, first in line %d", at, line)
			continue
		}
		first[this] = w.line(at)
	}
}

func (w *walker) validateWheel(p PyPI, at string) {
	w.need(at+".package", p.Package == "", packageRE.MatchString(p.Package), "the package's name")
	w.need(at+".version", p.Version == "", versionRE.MatchString(p.Version), "the exact version")
	w.need(at+".wheel", p.Wheel == "", path.Base(p.Wheel) == p.Wheel && strings.HasSuffix(p.Wheel, ".whl"), "the file name of the wheel")
	w.need(at+".sha256", p.SHA256 == "", sha256RE.MatchString(p.SHA256), "64 hexadecimal digits in lower case")
	w.need(at+".bytes", p.Bytes == 0, p.Bytes >= 0, "the wheel's size in bytes")
}

func (w *walker) validateDefaults(d Defaults, at string) {
	w.need(at+".context", false, d.Context >= 0, "0 or a number of tokens")
	w.need(at+".sequences", false, d.Sequences >= 0, "0 or a number of requests")
	w.need(at+".temperature", false, d.Temperature == nil || *d.Temperature >= 0 && *d.Temperature <= 2, "0 to 2")
	w.need(at+".top_p", false, d.TopP == nil || *d.TopP > 0 && *d.TopP <= 1, "above 0, up to 1")
	w.need(at+".top_k", false, d.TopK == nil || *d.TopK >= 0, "0 or more")
	w.need(at+".min_p", false, d.MinP == nil || *d.MinP >= 0 && *d.MinP < 1, "0 to below 1")
}
