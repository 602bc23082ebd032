package transport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"dure/runtime/vcs"
	"dure/runtime/vcs/object"
)

// What is offered to who pushes. Without side-band the answer is one list of lines.
const pushCapabilities = "report-status delete-refs atomic ofs-delta quiet object-format=sha1 agent=dure"

// advertisePush lists the refs to who may push: they say what need not be sent.
func (s *Server) advertisePush(w *tracking, who vcs.Actor) error {
	if who.Branch() == "" {
		return &statusError{http.StatusForbidden, "nobody pushes here: agents push through their own socket"}
	}
	header(w, "git-receive-pack-advertisement")
	var b strings.Builder
	b.WriteString(packet("# service=git-receive-pack\n") + flushPacket)
	end := "\x00" + pushCapabilities + "\n"
	for _, ref := range s.repo.Refs("") {
		b.WriteString(packet(ref.ID.String() + " " + ref.Name + end))
		end = "\n"
	}
	if end != "\n" {
		b.WriteString(packet(object.Zero.String() + " capabilities^{}" + end))
	}
	b.WriteString(flushPacket)
	_, err := io.WriteString(w, b.String())
	return err
}

// maxCommands bounds the refs of one push.
const maxCommands = 1000

// A pushed is what a client asks for: moves, and what it wants of the answer.
type pushed struct {
	moves  []vcs.Move
	atomic bool
}

// readCommands reads what stands before the pack.
func readCommands(in *bufio.Reader) (p pushed, err error) {
	for {
		line, err := readPacket(in)
		if errors.Is(err, errFlush) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
		line, capabilities, _ := strings.Cut(line, "\x00")
		for c := range strings.FieldsSeq(capabilities) {
			p.atomic = p.atomic || c == "atomic"
			if format, ok := strings.CutPrefix(c, "object-format="); ok && format != "sha1" {
				return p, fmt.Errorf("objects named by %s; only sha1 is known", format)
			}
		}
		was, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		is, name, _ := strings.Cut(rest, " ")
		m := vcs.Move{Ref: name}
		if m.Old, err = object.ParseID(was); err != nil {
			return p, err
		}
		if m.New, err = object.ParseID(is); err != nil {
			return p, err
		}
		if p.moves = append(p.moves, m); len(p.moves) > maxCommands {
			return p, fmt.Errorf("more than %d refs in one push", maxCommands)
		}
	}
}

// push takes a pack and moves branches.
func (s *Server) push(w *tracking, r *http.Request, who vcs.Actor) error {
	if who.Branch() == "" {
		return &statusError{http.StatusForbidden, "nobody pushes here: agents push through their own socket"}
	}
	if err := wantType(r, "git-receive-pack"); err != nil {
		return err
	}
	raw, err := body(w, r, s.opt.MaxPush+maxAsk)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(raw, 1<<16)
	p, err := readCommands(in)
	if err != nil {
		return &statusError{http.StatusBadRequest, fmt.Sprintf("the push cannot be read: %v", err)}
	}
	header(w, "git-receive-pack-result")
	if len(p.moves) == 0 { // a client feels its way before a long push
		w.WriteHeader(http.StatusOK)
		return nil
	}
	unpack, results := s.carryOut(r.Context(), who, p, in)
	if err := r.Context().Err(); err != nil {
		return err
	}
	_, err = io.WriteString(w, report(unpack, p.moves, results))
	return err
}

// carryOut is a push: what came of the pack, and of each move.
func (s *Server) carryOut(ctx context.Context, who vcs.Actor, p pushed, in io.Reader) (unpack error, results []error) {
	results = make([]error, len(p.moves))
	var allowed []vcs.Move
	var refused error
	for i, m := range p.moves {
		if results[i] = s.repo.Allow(who, m); results[i] != nil {
			refused = results[i]
			continue
		}
		allowed = append(allowed, m)
	}
	all := func(err error) {
		for i := range results {
			if results[i] == nil {
				results[i] = err
			}
		}
	}
	if len(allowed) == 0 || p.atomic && refused != nil {
		all(errors.New("another ref of this push was refused"))
		// The rest is read, so that the client is ready to read the answer.
		_, err := io.Copy(io.Discard, in)
		return err, results
	}
	// An agent may move one ref, so that there is one.
	if err := s.take(ctx, who, allowed[0], in); err != nil {
		all(err)
		var bad *packError
		if errors.As(err, &bad) {
			unpack = err
		}
		return unpack, results
	}
	all(s.repo.Apply(ctx, who, nil, allowed...))
	return nil, results
}

// report is the answer to a push.
func report(unpack error, moves []vcs.Move, results []error) string {
	var b strings.Builder
	if unpack != nil {
		b.WriteString(packet("unpack " + oneLine(unpack) + "\n"))
	} else {
		b.WriteString(packet("unpack ok\n"))
	}
	for i, m := range moves {
		if results[i] != nil {
			b.WriteString(packet("ng " + m.Ref + " " + oneLine(results[i]) + "\n"))
			continue
		}
		b.WriteString(packet("ok " + m.Ref + "\n"))
	}
	b.WriteString(flushPacket)
	return b.String()
}

// oneLine is an error as the protocol can carry it.
func oneLine(err error) string {
	text := strings.Join(strings.FieldsFunc(err.Error(), func(c rune) bool { return c < ' ' || c == 0x7f }), " ")
	return text[:min(len(text), 1000)]
}
