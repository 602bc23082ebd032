//go:build oracle

package llm_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var templatesDir = flag.String("templates", "", "directory of chat templates with Qwen3.5-4B.jinja")

// TestReentryUnderQwen35 needs the template as it is shipped.
//
//	go test -tags oracle ./inference/llm -run Qwen35 -args -templates DIR
func TestReentryUnderQwen35(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(*templatesDir, "Qwen3.5-4B.jinja"))
	if err != nil {
		t.Fatalf("%v: -templates is, for example, models/templates of llama.cpp's source", err)
	}
	thinksThroughFiveTurns(t, string(source))
}
