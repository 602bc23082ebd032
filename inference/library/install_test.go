package library

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dure/inference/fetch"
	"dure/inference/fetch/fetchtest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestInstall(t *testing.T) {
	shelf := shelf(t)
	tools(t, shop(t, shelf))
	home := t.TempDir()
	if _, err := Open(home, CPU); !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("before: %v", err)
	}
	s, err := Install(ctx, Options{Home: home, Variant: CPU})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"libllama.so": "llama", "libggml.so": "ggml", "libggml-base.so": "base", "libggml-cpu-x64.so": "cpu",
		"libllama.so.0": "llama", "libggml.so.0": "ggml", "libggml-base.so.0": "base"} {
		if got, err := os.ReadFile(filepath.Join(s.Lib(), name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	want := []File{{"lib/libggml-base.so", 4, sumOf("base")}, {"lib/libggml-cpu-x64.so", 3, sumOf("cpu")},
		{"lib/libggml.v0.5.0.so", 4, sumOf("ggml")}, {"lib/libllama.v0.5.0.so", 5, sumOf("llama")}}
	if d := cmp.Diff(want, s.Files); d != "" {
		t.Error(d)
	}
	if s.Variant != CPU || s.Llama != LlamaVersion || len(s.Packages) != 1 || s.Made.IsZero() || s.Verify(ctx) != nil {
		t.Errorf("set is %+v, verified %v", s, s.Verify(ctx))
	}
	tools(t, nil) // the second time needs no client
	again, err := Install(ctx, Options{Home: home, Variant: CPU})
	if d := cmp.Diff(s, again); err != nil || d != "" {
		t.Errorf("second Install: %v %s", err, d)
	}
	if sets, err := Installed(home); err != nil || len(sets) != 1 || sets[0].Variant != CPU {
		t.Errorf("Installed = %+v, %v", sets, err)
	}
	for _, folder := range []string{"tmp", "downloads"} {
		if left, _ := os.ReadDir(filepath.Join(home, folder)); len(left) > 0 {
			t.Errorf("left in %s: %v", folder, left)
		}
	}
}

// Whatever is wrong with a set, it is seen, told and made anew.
func TestInstallRepairs(t *testing.T) {
	shelf := shelf(t)
	tools(t, shop(t, shelf))
	for name, spoil := range map[string]func(t *testing.T, s Set){
		"cut file":      func(t *testing.T, s Set) { write(t, filepath.Join(s.Lib(), "libllama.v0.5.0.so"), []byte("lla")) },
		"missing file":  func(t *testing.T, s Set) { remove(t, filepath.Join(s.Lib(), "libggml-cpu-x64.so")) },
		"missing link":  func(t *testing.T, s Set) { remove(t, filepath.Join(s.Lib(), "libllama.so")) },
		"no manifest":   func(t *testing.T, s Set) { remove(t, filepath.Join(s.Root, manifestFile)) },
		"half manifest": func(t *testing.T, s Set) { write(t, filepath.Join(s.Root, manifestFile), []byte(`{"variant": "c`)) },
		"no file listed": func(t *testing.T, s Set) {
			write(t, filepath.Join(s.Root, manifestFile), []byte(`{"variant":"cpu","llama_version":"0.5.0"}`))
		},
		"other pins":    func(t *testing.T, s Set) { remanifest(t, s, func(m *Manifest) { m.Packages[0].Hash = "sha512-other" }) },
		"other version": func(t *testing.T, s Set) { remanifest(t, s, func(m *Manifest) { m.Llama = "0.4.9" }) },
		"a link for a file": func(t *testing.T, s Set) {
			file := filepath.Join(s.Lib(), "libggml-cpu-x64.so")
			remove(t, file)
			if err := os.Symlink("libggml-base.so", file); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			s, err := Install(ctx, Options{Home: home, Variant: CPU})
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, s)
			var broken *BrokenError
			if _, err := Open(home, CPU); !errors.As(err, &broken) {
				t.Fatalf("Open = %v", err)
			}
			if sets, err := Installed(home); len(sets) != 0 || !errors.As(err, &broken) {
				t.Errorf("Installed = %v, %v", sets, err)
			}
			var log bytes.Buffer
			s, err = Install(ctx, Options{Home: home, Variant: CPU, Log: logger(&log)})
			if err != nil || s.Verify(ctx) != nil {
				t.Fatal(err, s.Verify(ctx))
			}
			if !strings.Contains(log.String(), "installing the engine libraries again") {
				t.Error("nobody was told")
			}
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func remanifest(t *testing.T, s Set, change func(*Manifest)) {
	t.Helper()
	m := s.Manifest
	change(&m)
	if err := writeManifest(s.Root, m); err != nil {
		t.Fatal(err)
	}
}

// Verify sees what the cheap look cannot.
func TestVerify(t *testing.T) {
	tools(t, shop(t, shelf(t)))
	home := t.TempDir()
	s, err := Install(ctx, Options{Home: home, Variant: CPU})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.Lib(), "libllama.v0.5.0.so"), []byte("lLama"))
	if _, err := Open(home, CPU); err != nil {
		t.Errorf("Open = %v", err)
	}
	var hash *fetch.HashError
	if err := s.Verify(ctx); !errors.As(err, &hash) || !strings.HasSuffix(hash.Path, "libllama.v0.5.0.so") {
		t.Errorf("Verify = %v", err)
	}
}

// What the system has of CUDA is linked, the rest is fetched.
func TestInstallCUDA(t *testing.T) {
	system := t.TempDir()
	for _, name := range []string{"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"} {
		write(t, filepath.Join(system, name), []byte("of the system"))
	}
	for _, c := range []struct {
		name    string
		has     []string
		fetched []string
	}{
		{"nothing", nil, []string{"cuda", "rt", "blas"}},
		{"all", []string{"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13"}, []string{"cuda"}},
		{"runtime", []string{"libcudart.so.13"}, []string{"cuda", "blas"}},
		{"half of cuBLAS", []string{"libcublas.so.13"}, []string{"cuda", "rt", "blas"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			shelf := shelf(t)
			tools(t, shop(t, shelf))
			home := t.TempDir()
			find := func(soname string) (string, bool) {
				return filepath.Join(system, soname), slices.Contains(c.has, soname)
			}
			s, err := Install(ctx, Options{Home: home, Variant: CUDA, FindLibrary: find})
			if err != nil {
				t.Fatal(err)
			}
			if got := sold(t, shelf); !slices.Equal(got, c.fetched) {
				t.Errorf("fetched %v, want %v", got, c.fetched)
			}
			for name, own := range map[string]string{"libcudart.so.13": "runtime", "libcublas.so.13": "blas", "libcublasLt.so.13": "lt", "libggml-cuda.so": "cuda"} {
				want := own
				if slices.Contains(c.has, name) && c.name != "half of cuBLAS" {
					want = "of the system"
				}
				if got, err := os.ReadFile(filepath.Join(s.Lib(), name)); err != nil || string(got) != want {
					t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
				}
			}
			if _, err := os.Lstat(filepath.Join(s.Lib(), "libnvblas.so.13")); err == nil {
				t.Error("took what nobody needs")
			}
		})
	}
}

// The system's CUDA is removed: the set is broken, and made whole by a fetch.
func TestSystemLibraryGoes(t *testing.T) {
	shelf := shelf(t)
	tools(t, shop(t, shelf))
	home, file := t.TempDir(), filepath.Join(t.TempDir(), "libcudart.so.13")
	write(t, file, []byte("of the system"))
	find := func(soname string) (string, bool) {
		_, err := os.Stat(file)
		return file, err == nil && soname == "libcudart.so.13"
	}
	if _, err := Install(ctx, Options{Home: home, Variant: CUDA, FindLibrary: find}); err != nil {
		t.Fatal(err)
	}
	remove(t, file)
	var broken *BrokenError
	if _, err := Open(home, CUDA); !errors.As(err, &broken) {
		t.Fatalf("Open = %v", err)
	}
	s, err := Install(ctx, Options{Home: home, Variant: CUDA, FindLibrary: find})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(s.Lib(), "libcudart.so.13")); err != nil || string(got) != "runtime" {
		t.Errorf("holds %q, %v", got, err)
	}
}

func TestInstallFails(t *testing.T) {
	shelf := shelf(t)
	for name, change := range map[string]func(p *part){
		"a library is missing": func(p *part) { p.take = exactly("libggml-base.so") },
		"larger than pinned":   func(p *part) { p.bytes-- },
		"other bytes":          func(p *part) { p.artifact.Hash = sourceArchive.Hash },
		"no such package":      func(p *part) { p.artifact.Package = "gone" },
		"no room":              func(p *part) { p.bytes = 1 << 60 },
	} {
		t.Run(name, func(t *testing.T) {
			tools(t, shop(t, shelf))
			pin(shelf)
			p := prebuilt[runtime.GOARCH][CPU][0]
			change(&p)
			prebuilt[runtime.GOARCH][CPU] = []part{p}
			home := t.TempDir()
			s, err := Install(ctx, Options{Home: home, Variant: CPU})
			if err == nil {
				t.Fatalf("installed %+v", s)
			}
			if name == "no room" && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error is %v", err)
			}
			if _, err := Open(home, CPU); !errors.Is(err, ErrNotInstalled) {
				t.Errorf("afterwards: %v", err)
			}
			if left, _ := os.ReadDir(filepath.Join(home, "tmp")); len(left) > 0 {
				t.Errorf("left in tmp: %v", left)
			}
		})
	}
	pin(shelf)
}

func TestInstallUnavailable(t *testing.T) {
	for v, says := range map[Variant]string{SourceHIP: "make engine-source BACKEND=hip", "quux": "prebuilt are [cpu cuda]", Vulkan: "make engine-source BACKEND=vulkan", CUDA12: "BACKEND=cuda"} {
		shelf(t)
		_, err := Install(ctx, Options{Home: t.TempDir(), Variant: v})
		var e *UnavailableError
		if !errors.As(err, &e) || !strings.Contains(e.Error(), says) {
			t.Errorf("Install(%s) fails with %v, want %q", v, err, says)
		}
	}
}

func TestTwoProcessesInstall(t *testing.T) {
	shelf := shelf(t)
	tools(t, shop(t, shelf))
	home := t.TempDir()
	var cmds []*exec.Cmd
	for range 3 {
		cmd := child(t, home, shelf)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := sold(t, shelf); len(got) != 1 {
		t.Errorf("fetched %v, want it once", got)
	}
	if s, err := Open(home, CPU); err != nil || s.Verify(ctx) != nil {
		t.Error(err)
	}
}

func TestKilledInstall(t *testing.T) {
	shelf := shelf(t)
	alive := filepath.Join(t.TempDir(), "alive")
	if err := unix.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	tools(t, map[string]string{"npm": `exec 3> '` + alive + `'; echo up >&3; exec sleep 600`})
	home := t.TempDir()
	cmd := child(t, home, shelf)
	fetchtest.KillAt(t, cmd, alive)
	if _, err := Open(home, CPU); !errors.Is(err, ErrNotInstalled) {
		t.Fatalf("after the kill: %v", err)
	}
	tools(t, shop(t, shelf))
	if s, err := Install(ctx, Options{Home: home, Variant: CPU}); err != nil || s.Verify(ctx) != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Join(home, "tmp")); len(left) > 0 {
		t.Errorf("left in tmp: %v", left)
	}
}

func TestOpenDir(t *testing.T) {
	dir := t.TempDir()
	var broken *BrokenError
	if _, err := OpenDir(dir); !errors.As(err, &broken) || !strings.Contains(err.Error(), "libllama.so") {
		t.Errorf("OpenDir of an empty folder: %v", err)
	}
	for _, name := range []string{"libllama.so", "libggml.so", "libggml-base.so"} {
		write(t, filepath.Join(dir, name), nil)
	}
	t.Chdir(dir)
	if s, err := OpenDir("."); err != nil || s.Lib() != dir || s.Variant != Custom {
		t.Errorf("OpenDir = %+v, %v", s, err)
	}
}
