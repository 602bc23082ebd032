package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"

	"dure/runtime/vcs/git"
)

// advertiseFetch says what there is to fetch: refs, or with version 2 what the
// server can do.
func (s *Server) advertiseFetch(w *tracking, r *http.Request) error {
	header(w, "git-upload-pack-advertisement")
	if version(r) != "version=2" {
		if err := s.repo.Publish(r.Context()); err != nil {
			return err
		}
		if _, err := io.WriteString(w, packet("# service=git-upload-pack\n")+flushPacket); err != nil {
			return err
		}
	}
	return s.upload(w, r, nil, "--advertise-refs")
}

// fetch answers one round of a fetch.
func (s *Server) fetch(w *tracking, r *http.Request) error {
	if err := wantType(r, "git-upload-pack"); err != nil {
		return err
	}
	in, err := body(w, r, maxAsk)
	if err != nil {
		return err
	}
	if version(r) == "version=2" {
		// With version 0 the refs were published when they were listed.
		if err := s.repo.Publish(r.Context()); err != nil {
			return err
		}
	}
	header(w, "git-upload-pack-result")
	return s.upload(w, r, in)
}

func (s *Server) upload(w *tracking, r *http.Request, in io.Reader, args ...string) error {
	leave, err := s.turn(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	args = append([]string{"upload-pack", "--stateless-rpc", "--strict"}, append(args, s.repo.Dir())...)
	cmd := s.git.Command(r.Context(), s.repo.Dir(), []string{"GIT_PROTOCOL=" + version(r)}, args...)
	said := &git.Tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, w, said
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() && w.begun {
		return nil // it has told the client itself what is wrong with the request
	}
	if err != nil {
		return fmt.Errorf("git upload-pack: %w: %s", err, said)
	}
	return nil
}
