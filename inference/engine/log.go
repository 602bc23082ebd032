package engine

import (
	"log/slog"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
)

// Levels of ggml_log_level. levelCont continues the line begun before it.
const (
	levelDebug = 1
	levelInfo  = 2
	levelWarn  = 3
	levelError = 4
	levelCont  = 5
)

// recentProblems is how many warning and error lines are kept to explain a
// failed call: the C API says why only in its log.
const recentProblems = 8

// engineLog turns the fragments that the C side logs, from any thread, into
// one slog record a line. Info becomes Debug: what the engine tells by itself
// is detail to us.
type engineLog struct {
	log *slog.Logger

	mu       sync.Mutex
	level    int32
	partial  strings.Builder
	problems []string
}

func newEngineLog(log *slog.Logger) *engineLog {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &engineLog{log: log}
}

var (
	currentLog      *engineLog // set once, before the first callback can come
	logCallbackOnce sync.Once
)

func setLogCallback(l *engineLog) {
	currentLog = l
	logCallbackOnce.Do(func() {
		llama.LogSet(purego.NewCallback(func(level int32, text *byte, _ uintptr) uintptr {
			currentLog.write(level, cString(text))
			return 0
		}))
	})
}

func (l *engineLog) write(level int32, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if level != levelCont {
		l.flush()
		l.level = level
	}
	for {
		line, rest, found := strings.Cut(text, "\n")
		l.partial.WriteString(line)
		if !found {
			return
		}
		l.flush()
		text = rest
	}
}

// flush emits the line collected so far; the caller holds mu.
func (l *engineLog) flush() {
	line := strings.TrimSpace(l.partial.String())
	l.partial.Reset()
	if line == "" || strings.Trim(line, ".") == "" { // progress dots of the loader
		return
	}
	switch l.level {
	case levelWarn:
		if strings.HasPrefix(line, "model has unused tensor") { // of layers that are not wanted, one line for each
			l.log.Debug("engine", "line", line)
			return
		}
		l.remember(line)
		l.log.Warn("engine", "line", line)
	case levelError:
		l.remember(line)
		l.log.Error("engine", "line", line)
	default:
		l.log.Debug("engine", "line", line)
	}
}

func (l *engineLog) remember(line string) {
	if len(l.problems) == recentProblems {
		l.problems = append(l.problems[:0], l.problems[1:]...)
	}
	l.problems = append(l.problems, line)
}

// takeProblems returns and forgets the recent warnings and errors.
func (l *engineLog) takeProblems() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	s := strings.Join(l.problems, "; ")
	l.problems = l.problems[:0]
	if s == "" {
		return "the engine gave no reason"
	}
	return s
}

// cString copies a NUL-terminated C string.
func cString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
