package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ebitengine/purego"
)

// standIn answers as the call in libggml-base does: DEVICE is what it is asked
// for. The compiler lays the struct out.
const standIn = `#include <stdbool.h>
#include <stddef.h>
struct caps { bool async, host, from_ptr, events, mapped; };
struct props { const char *name, *description; size_t free, total; int type; const char *id; struct caps caps; };
void ask(void *device, struct props *p) {
	struct props told = {"Vulkan1", "a card", 1, 2, 1, device == (void *)1 ? "0000:c1:00.0" : 0, {1, 1, 1, 1, 1}};
	*p = told;
}
`

// The address is where a C compiler puts it; none, or another device's, is none.
func TestPropsOfADevice(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("SKIPPED: the stand-in for the engine's library needs gcc")
	}
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "props.c"), filepath.Join(dir, "props.so")
	if err := os.WriteFile(source, []byte(standIn), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	handle, err := purego.Dlopen(lib, purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	call, err := purego.Dlsym(handle, "ask")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		device     uintptr
		name, want string
	}{{1, "Vulkan1", "0000:c1:00.0"}, {2, "Vulkan1", ""}, {1, "Vulkan0", ""}} {
		if got := readProps(call, c.device, c.name); got != c.want {
			t.Errorf("device %d named %s: %q, want %q", c.device, c.name, got, c.want)
		}
	}
}
