package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"dure/audio"
)

// live listens to the microphone and plays the answers.
func (t *talk) live(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	recorder, err := exec.LookPath("arecord")
	if err != nil {
		return errors.New("no arecord to listen to the microphone with: install alsa-utils, or say something with --in FILE.wav or --text")
	}
	loud, err := exec.LookPath("aplay")
	if err != nil {
		return errors.New("no aplay to play answers with: install alsa-utils, or say something with --in FILE.wav or --text")
	}
	mic := exec.CommandContext(ctx, recorder, "-q", "-t", "raw", "-f", "S16_LE", "-r", "24000", "-c", "1")
	sound, err := mic.StdoutPipe()
	if err != nil {
		return err
	}
	if err := mic.Start(); err != nil {
		return fmt.Errorf("listen to the microphone: %w", err)
	}
	defer mic.Wait()
	t.player = &speakers{ctx: ctx, program: loud}
	defer t.player.stop()
	heard := make(chan error, 1)
	go func() {
		heard <- t.send(sound)
		t.client.Close()
	}()
	fmt.Fprintln(t.out, "listening; Ctrl-C ends")
	err = t.listen(false)
	cancel()
	if mine := <-heard; mine != nil && ctx.Err() == nil {
		err = mine
	}
	return err
}

// send passes on what the microphone hears.
func (t *talk) send(sound io.Reader) error {
	buf := make([]byte, audio.Rate/25*2)
	for {
		if _, err := io.ReadFull(sound, buf); err != nil {
			return fmt.Errorf("the microphone went silent: %w; `arecord -l` lists what there is", err)
		}
		pcm, err := audio.PCM16.Decode(nil, buf)
		if err != nil {
			return err
		}
		if err := t.client.Append(pcm); err != nil {
			return err
		}
	}
}

// player plays sound at audio.Rate.
type player interface {
	play(pcm []float32) error
	stop() // drops what was not played
}

// speakers play by a program, which is ended to be silent.
type speakers struct {
	ctx     context.Context
	program string

	mu   sync.Mutex
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

func (s *speakers) play(pcm []float32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		cmd := exec.CommandContext(s.ctx, s.program, "-q", "-t", "raw", "-f", "S16_LE", "-r", "24000", "-c", "1")
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		cmd.WaitDelay = time.Second
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("play the answer: %w", err)
		}
		s.cmd, s.pipe = cmd, pipe
	}
	_, err := s.pipe.Write(audio.PCM16.Encode(nil, pcm))
	return err
}

func (s *speakers) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd, s.pipe = nil, nil
}
