package runner

import (
	"log/slog"
	"os"

	"dure/inference/pool/arbiter"
)

// turns takes the child's turns on its devices for llm.
type turns struct{ *arbiter.Turn }

// openTurns takes over the line that the parent has left at turnFD.
func openTurns(log *slog.Logger) (*turns, error) {
	t, err := arbiter.Connect(os.NewFile(turnFD, "turns"), log)
	if err != nil {
		return nil, err
	}
	return &turns{t}, nil
}

// Take implements llm.Turns.
func (t *turns) Take(prompt bool) {
	class := arbiter.Decode
	if prompt {
		class = arbiter.Prompt
	}
	t.Turn.Take(class, 0)
}
