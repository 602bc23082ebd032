package library

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"dure/inference/fetch"

	"github.com/google/go-cmp/cmp"
)

// The pins are of one release each, their names are those the clients give, and
// the Go bindings are the ones that belong to them.
func TestPins(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "github.com/hybridgroup/yzma v1.28.0") {
		t.Error("go.mod has another yzma than the one that belongs to llama.cpp " + LlamaVersion)
	}
	all := []fetch.Artifact{sourceArchive}
	for _, variants := range prebuilt {
		for _, parts := range variants {
			for _, p := range parts {
				if p.bytes <= 0 || p.take == nil {
					t.Errorf("%s: nothing is taken", p.artifact.File)
				}
				all = append(all, p.artifact)
			}
		}
	}
	for _, a := range all {
		want := strings.NewReplacer("@", "", "/", "-").Replace(a.Package) + "-" + a.Version + ".tgz"
		algorithm := "sha512-"
		if a.Client == fetch.PIP {
			want, algorithm = strings.ReplaceAll(a.Package, "-", "_")+"-"+a.Version+"-py3-none-many", "sha256:"
		}
		if !strings.HasPrefix(a.File, want) || a.Bytes <= 0 || !strings.HasPrefix(a.Hash.String(), algorithm) {
			t.Errorf("%s %s: file %s, %d bytes, %s", a.Package, a.Version, a.File, a.Bytes, a.Hash)
		}
		if a.Client == fetch.NPM && a.Version != npmVersion {
			t.Errorf("%s is of %s, not %s", a.Package, a.Version, npmVersion)
		}
	}
}

func TestPrebuilt(t *testing.T) {
	if got := Prebuilt("amd64"); !slices.Equal(got, []Variant{CPU, Vulkan, CUDA, CUDA12}) {
		t.Errorf("amd64: %v", got)
	}
	if got := Prebuilt("arm64"); !slices.Equal(got, []Variant{CPU}) {
		t.Errorf("arm64: %v", got)
	}
	if got := Prebuilt("riscv64"); got != nil {
		t.Errorf("riscv64: %v", got)
	}
}

// The names in the real packages.
func TestLinks(t *testing.T) {
	for tag, files := range map[string][]string{
		"":        {"libggml-base.so", "libggml-cpu-zen4.so", "libggml.v0.5.0.so", "libllama-common.so", "libllama.v0.5.0.so"},
		".vulkan": {"libggml-base.so", "libggml-vulkan.so", "libggml.vulkan.v0.5.0.so", "libllama-common.so", "libllama.vulkan.v0.5.0.so"},
		".cuda":   {"libggml-base.so", "libggml-cuda.so", "libcublas.so.13", "libggml.cuda.v0.5.0.so", "libllama-common.so", "libllama.cuda.v0.5.0.so"},
	} {
		want := []Link{
			{"libggml-base.so.0", "libggml-base.so"},
			{"libggml.so", "libggml" + tag + ".v0.5.0.so"}, {"libggml.so.0", "libggml" + tag + ".v0.5.0.so"},
			{"libllama-common.so.0", "libllama-common.so"},
			{"libllama.so", "libllama" + tag + ".v0.5.0.so"}, {"libllama.so.0", "libllama" + tag + ".v0.5.0.so"},
		}
		if d := cmp.Diff(want, links(files)); d != "" {
			t.Errorf("%q: %s", tag, d)
		}
	}
}

func TestTake(t *testing.T) {
	take := func(f func(string) string, members ...string) []string {
		var got []string
		for _, m := range members {
			if name := f(m); name != "" {
				if name != path.Base(name) {
					t.Errorf("%s is written to %s", m, name)
				}
				got = append(got, name)
			}
		}
		return got
	}
	members := []string{"package/bins/linux-x64-cuda/libggml-cuda.so", "package/bins/linux-x64-cuda/libllama.cuda.v0.5.0.so", "package/bins/linux-x64-cuda/llama-addon.node",
		"package/bins/linux-x64-cuda/fallback/libggml-cuda.so", "package/dist/x.so", "package/LICENSE"}
	if got := take(engineLibs, members...); !slices.Equal(got, []string{"libggml-cuda.so", "libllama.cuda.v0.5.0.so"}) {
		t.Errorf("engineLibs takes %v", got)
	}
	if got := take(engineLibsBut("libggml-cuda.so"), members...); !slices.Equal(got, []string{"libllama.cuda.v0.5.0.so"}) {
		t.Errorf("engineLibsBut takes %v", got)
	}
	if got := take(exactly("libggml-cuda.so"), members[3]); !slices.Equal(got, []string{"libggml-cuda.so"}) {
		t.Errorf("exactly takes %v", got)
	}
}
