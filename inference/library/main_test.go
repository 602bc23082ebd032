package library

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dure/inference/fetch"
)

var ctx = context.Background()

// The test binary runs itself again to have a second process that installs.
const (
	homeVar  = "LIBRARY_TEST_HOME"
	shelfVar = "LIBRARY_TEST_SHELF"
)

func TestMain(m *testing.M) {
	home := os.Getenv(homeVar)
	if home == "" {
		os.Exit(m.Run())
	}
	pin(os.Getenv(shelfVar))
	if _, err := Install(ctx, Options{Home: home, Variant: CPU}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, home, shelf string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), homeVar+"="+home, shelfVar+"="+shelf)
	cmd.Stderr = os.Stderr
	return cmd
}

// engine are the members of a small npm package with the names of a real one.
var engine = map[string]string{
	"package/bins/linux-x64/libllama.v0.5.0.so": "llama",
	"package/bins/linux-x64/libggml.v0.5.0.so":  "ggml",
	"package/bins/linux-x64/libggml-base.so":    "base",
	"package/bins/linux-x64/libggml-cpu-x64.so": "cpu",
	"package/bins/linux-x64/llama-addon.node":   "not ours",
	"package/package.json":                      "{}",
}

const (
	cpuFile    = "node-llama-cpp-linux-x64-3.22.1.tgz"
	cudaFile   = "node-llama-cpp-linux-x64-cuda-3.22.1.tgz"
	sourceFile = "node-llama-cpp-3.22.1.tgz"
)

// shelf is a folder of archives; pin makes its files the pinned ones.
func shelf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, cpuFile), tgz(engine))
	cuda := maps.Clone(engine)
	cuda["package/bins/linux-x64-cuda/libggml-cuda.so"] = "cuda"
	write(t, filepath.Join(dir, cudaFile), tgz(cuda))
	write(t, filepath.Join(dir, "rt.tgz"), tgz(map[string]string{"nvidia/lib/libcudart.so.13": "runtime"}))
	write(t, filepath.Join(dir, "blas.tgz"), tgz(map[string]string{"nvidia/lib/libcublas.so.13": "blas", "nvidia/lib/libcublasLt.so.13": "lt", "nvidia/lib/libnvblas.so.13": "no"}))
	write(t, filepath.Join(dir, sourceFile), tgz(map[string]string{sourceBundle: "a bundle"}))
	before, source := prebuilt, sourceArchive
	t.Cleanup(func() { prebuilt, sourceArchive = before, source })
	pin(dir)
	return dir
}

func pin(dir string) {
	artifact := func(name, file string) fetch.Artifact {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			panic(err)
		}
		sum := sha512.Sum512(data)
		return npm(name, file, "sha512-"+base64.StdEncoding.EncodeToString(sum[:]), int64(len(data)))
	}
	prebuilt = map[string]map[Variant][]part{runtime.GOARCH: {
		CPU: {{artifact: artifact("cpu", cpuFile), take: engineLibs, bytes: 16}},
		CUDA: {
			{artifact: artifact("cuda", cudaFile), take: engineLibs, bytes: 20},
			{artifact: artifact("rt", "rt.tgz"), take: exactly("libcudart.so.13"), bytes: 7, sonames: []string{"libcudart.so.13"}},
			{artifact: artifact("blas", "blas.tgz"), take: exactly("libcublas.so.13", "libcublasLt.so.13"), bytes: 6, sonames: []string{"libcublas.so.13", "libcublasLt.so.13"}},
		},
	}}
	sourceArchive = artifact("source", sourceFile)
}

func tgz(members map[string]string) []byte {
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(members[name])), Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
			panic(err)
		}
		if _, err := w.Write([]byte(members[name])); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	if err := gz.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// tools makes a folder of shell scripts the only PATH there is.
func tools(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nPATH=/usr/bin:/bin\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// shop is a fake npm that sells from the shelf and counts.
func shop(t *testing.T, shelf string) map[string]string {
	t.Helper()
	return map[string]string{"npm": `echo "$2" >> '` + shelf + `/calls'
case "$2" in
cpu@*) f=` + cpuFile + `;; cuda@*) f=` + cudaFile + `;; rt@*) f=rt.tgz;; blas@*) f=blas.tgz;; source@*) f=` + sourceFile + `;;
*) echo "no $2"; exit 1;; esac
cp '` + shelf + `'/$f "$4/$f"`}
}

// sold are the packages that the fake npm was asked for.
func sold(t *testing.T, shelf string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(shelf, "calls"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(string(data), "@"+npmVersion, ""))
}

func logger(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

func sumOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
