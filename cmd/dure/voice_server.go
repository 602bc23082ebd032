package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dure/audio/realtime"
	"dure/audio/realtime/wire"
	"dure/audio/responder"
	"dure/audio/speech"
	"dure/audio/turn"
	"dure/audio/voice"
	"dure/inference"
	"dure/inference/remote"
)

// Sockets in the folder that the server and its voice process share.
const (
	voiceSocket = "voice" // the voice process listens here
	apiSocket   = "api"   // the server does, for the voice process: the same API, the same keys
)

// voiceServerCommand is the process that keeps the clock of voice sessions: apart from the
// server, whose work would come between two frames. To the server it is a client like any
// other, with its clients' own keys.
func voiceServerCommand() *cobra.Command {
	var o voiceServer
	cmd := &cobra.Command{
		Use: "voice-server", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go func() { // the parent is gone when its end of this is
				_, _ = io.Copy(io.Discard, os.Stdin)
				cancel()
			}()
			// A goroutine that computes for a moment must not stand before the clock: with
			// two threads to spare, late frames were 4 times fewer.
			runtime.GOMAXPROCS(runtime.NumCPU() + 2)
			o.log = newLogger(os.Stderr, o.level)
			return o.serve(ctx)
		},
	}
	cmd.Flags().StringVar(&o.folder, "folder", "", "folder of the sockets")
	cmd.Flags().StringVar(&o.model, "model", "", "model of sessions that name none")
	cmd.Flags().StringVar(&o.level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

type voiceServer struct {
	folder, model, level string
	log                  *slog.Logger

	api     *http.Client
	engines *speech.Engines // nil where none are installed
	missing error           // why
}

func (v *voiceServer) serve(ctx context.Context) error {
	home, err := homeDir()
	if err != nil {
		return err
	}
	dialer := &net.Dialer{}
	v.api = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", filepath.Join(v.folder, apiSocket))
	}}}
	sessions := &voice.Sessions{}
	o := realtime.Options{
		Sessions: sessions, Identify: v.identify, Prepare: v.prepare, Imitate: imitate(consents(home)), Model: v.model, Log: v.log,
		AllowOrigin: func(*http.Request) bool { return true }, // the server's door has looked
	}
	if v.engines, v.missing = speechEngines(home, v.level); v.missing != nil {
		v.log.Warn("no speech engines: sessions can only be in text", "problem", v.missing.Error())
	} else {
		defer v.engines.Close()
		o.STT, o.TTS, o.Voices = hears{v.engines}, speaks{v.engines}, v.engines.Voices()
		go v.warm(ctx)
	}
	l, err := net.Listen("unix", filepath.Join(v.folder, voiceSocket))
	if err != nil {
		return fmt.Errorf("listen for the server: %w", err)
	}
	srv := &http.Server{Handler: realtime.New(o).Handler(), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(v.log.Handler(), slog.LevelDebug)}
	context.AfterFunc(ctx, func() {
		endAll(sessions)
		srv.Close()
	})
	fmt.Println("ready")
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// endAll tells all clients that it is over, and gives them a moment to read it.
func endAll(sessions *voice.Sessions) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, s := range sessions.All() {
		_ = s.Do(ctx, turn.Close{Reason: "the server is stopping"})
	}
	for _, s := range sessions.All() {
		select {
		case <-s.Ended():
		case <-ctx.Done():
		}
	}
	time.Sleep(100 * time.Millisecond) // the last words are in the sockets
}

func (v *voiceServer) warm(ctx context.Context) {
	if err := v.engines.Warm(ctx); err != nil && ctx.Err() == nil {
		v.log.Error("speech engines do not start", "error", err)
	}
}

// identify has the server judge the key. Whoever it is, their key is what their sessions
// use the server with.
func (v *voiceServer) identify(r *http.Request, secret string) (string, error) {
	_, err := v.models(r.Context(), secret)
	return secret, err
}

// models are those that a key may use.
func (v *voiceServer) models(ctx context.Context, secret string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, apiBase+"/models", nil)
	if err != nil {
		return nil, err
	}
	if secret != "" {
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	resp, err := v.api.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the server for its models: %w", err)
	}
	defer resp.Body.Close()
	var body struct {
		Data  []struct{ ID string }
		Error struct{ Message, Type, Code string }
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 8<<20)).Decode(&body); err != nil {
		return nil, fmt.Errorf("read the server's models: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		code := body.Error.Code
		if resp.StatusCode == http.StatusUnauthorized {
			code = "invalid_api_key"
		}
		return nil, &wire.Error{Type: wire.TypeInvalid, Code: code, Message: body.Error.Message}
	}
	var names []string
	for _, m := range body.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// apiBase is the server's API, over its socket.
const apiBase = "http://localhost/v1"

// prepare makes the parts of a session.
func (v *voiceServer) prepare(r *http.Request, secret string, c turn.Config) (voice.Options, error) {
	names, err := v.models(r.Context(), secret)
	if err != nil {
		return voice.Options{}, err
	}
	if c.Model, err = v.choose(c.Model, names); err != nil {
		return voice.Options{}, err
	}
	plain := &responder.Plain{
		Session: "voice-" + r.RemoteAddr + "-" + time.Now().Format(time.RFC3339Nano), MostTokens: 400,
		Open: func(_ context.Context, model string) (inference.Model, func(), error) {
			return remote.New(apiBase, secret, model, v.api), func() {}, nil
		},
	}
	o := voice.Options{Config: c, Log: v.log, Responder: plain}
	if run := r.URL.Query().Get("lead"); run != "" {
		if o.Responder, err = v.lead(r.Context(), secret, run, plain); err != nil {
			return voice.Options{}, err
		}
		o.Config.Lead = true
	}
	if v.engines == nil {
		if !c.TextOnly {
			return voice.Options{}, &wire.Error{Type: wire.TypeServer, Code: "engine_missing",
				Message: v.missing.Error() + `; without them sessions can only be in text (output_modalities ["text"] of a client secret)`}
		}
		o.Config.Detection = turn.Detection{}
		return o, nil
	}
	o.STT, o.TTS = hears{v.engines}, speaks{v.engines}
	// Clients name the voices of another service; the session says which it has.
	if voices := v.engines.Voices(); len(voices) > 0 && !slices.Contains(voices, c.Voice) {
		o.Config.Voice = voices[0]
	}
	detector, err := v.engines.VAD(r.Context())
	if err != nil {
		return voice.Options{}, fmt.Errorf("start the voice detector: %w", err)
	}
	o.VAD = detector
	return o, nil
}

// choose is the model of a session. The names that stock clients fill in by themselves
// stand for the default one, which session.created then tells.
func (v *voiceServer) choose(name string, names []string) (string, error) {
	if slices.Contains(names, name) {
		return name, nil
	}
	if name == "" || strings.HasPrefix(name, "gpt-realtime") || strings.HasPrefix(name, "gpt-4o") {
		return v.model, nil
	}
	return "", &wire.Error{Type: wire.TypeInvalid, Code: "model_not_found", Param: "model", Message: fmt.Sprintf("there is no model %q; there are %s", name, strings.Join(names, ", "))}
}
