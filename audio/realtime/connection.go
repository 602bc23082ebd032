package realtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"dure/audio"
	"dure/audio/realtime/wire"
	"dure/audio/turn"
	"dure/audio/voice"

	"github.com/gorilla/websocket"
)

const (
	// mostMessage is an append of wire.MostAppend bytes in base64, with its JSON.
	mostMessage = wire.MostAppend/3*4 + 64<<10
	// A client that is silent for this long is taken for gone; a ping every third of it
	// keeps a living one from being silent.
	mostSilence = 60 * time.Second
	// A write that takes this long finds nobody who reads.
	mostWrite = 5 * time.Second
)

// connection is one WebSocket and the session behind it.
type connection struct {
	s       *Server
	ws      *websocket.Conn
	session *voice.Session
	desk    *desk
	// extended connections get events that the API does not have: with ?duplex=1, or
	// ?dure=1 of clients that only want those.
	extended bool

	writing sync.Mutex
	reason  string // why the session ended, once it has
	events  int64  // number of the last event that this connection made up itself
}

// connect answers GET /v1/realtime: a new session, or with resume and last_seq one that
// lost its connection.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if token := query.Get("resume"); token != "" {
		s.resume(w, r, token, query.Get("last_seq"))
		return
	}
	holder, start, err := s.start(r)
	if err != nil {
		refuse(w, err)
		return
	}
	leave, err := s.known.enter(holder, s.o.MostPerHolder)
	if err != nil {
		refuse(w, err)
		return
	}
	options, err := s.o.Prepare(r, holder, start.Config)
	if err != nil {
		leave()
		refuse(w, err)
		return
	}
	// The session outlives this connection.
	session, err := s.o.Sessions.Open(context.WithoutCancel(r.Context()), options)
	if err != nil {
		leave()
		refuse(w, err)
		return
	}
	d := &desk{told: start, wanted: start, named: start.Config.Model, leave: leave}
	d.told.Config, d.wanted.Config = options.Config, options.Config
	d.told.ID, d.wanted.ID = session.ID(), session.ID()
	s.known.keep(session, d)
	a, err := session.Attach(0)
	if err != nil {
		refuse(w, err)
		return
	}
	s.serve(w, r, session, d, a)
}

func (s *Server) resume(w http.ResponseWriter, r *http.Request, token, last string) {
	seq, err := strconv.ParseInt(last, 10, 64)
	if last != "" && err != nil {
		refuse(w, &wire.Error{Type: wire.TypeInvalid, Code: wire.CodeValue, Param: "last_seq", Message: "a number was expected"})
		return
	}
	session, a, err := s.o.Sessions.Resume(token, seq)
	if err != nil {
		refuse(w, err)
		return
	}
	s.serve(w, r, session, s.known.desk(session), a)
}

// serve upgrades the connection and stays until it ends.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, session *voice.Session, d *desk, a *voice.Attachment) {
	defer a.Close()
	ws, err := s.up.Upgrade(w, r, nil)
	if err != nil {
		return // answered by the upgrader
	}
	defer ws.Close()
	c := &connection{s: s, ws: ws, session: session, desk: d, extended: extended(r, d.now())}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		defer cancel()
		c.read(ctx)
	}()
	c.write(ctx, a)
	cancel()
	ws.Close()
	<-reading
}

// extended reports whether a connection gets events that the API does not have.
func extended(r *http.Request, s wire.Session) bool {
	return s.Config.Duplex || r.URL.Query().Get("dure") == "1"
}

// read gives the session what the client sends, until one of them is gone.
func (c *connection) read(ctx context.Context) {
	c.ws.SetReadLimit(mostMessage)
	alive := func(string) error { return c.ws.SetReadDeadline(time.Now().Add(mostSilence)) }
	_ = alive("")
	c.ws.SetPongHandler(alive)
	for {
		kind, message, err := c.ws.ReadMessage()
		if err != nil {
			if errors.Is(err, websocket.ErrReadLimit) {
				c.fail(&wire.Error{Type: wire.TypeInvalid, Code: wire.CodeTooLarge, Message: fmt.Sprintf("a message of more than %d bytes", mostMessage)})
			}
			return
		}
		_ = alive("")
		if kind != websocket.TextMessage {
			c.fail(&wire.Error{Type: wire.TypeInvalid, Code: wire.CodeJSON, Message: "events are text messages, in JSON"})
			continue
		}
		if err := c.take(ctx, message); err != nil {
			return
		}
	}
}

// take handles one client event. The error is the end of the connection.
func (c *connection) take(ctx context.Context, message []byte) error {
	command, warnings, err := wire.Decode(message, c.extended)
	if err != nil {
		return c.fail(asError(err))
	}
	for _, one := range warnings {
		c.warn(one)
	}
	id, err := c.do(ctx, command)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, voice.ErrClosed), ctx.Err() != nil, errors.Is(err, errBye):
		return err
	}
	e := *asError(err)
	e.EventID = id
	return c.fail(&e)
}

var errBye = errors.New("the client said goodbye")

// do carries a command out and gives the client's id of it.
func (c *connection) do(ctx context.Context, command wire.Command) (id string, err error) {
	switch k := command.(type) {
	case wire.Sound:
		return k.ID, c.session.Append(ctx, k.ID, k.Bytes)
	case wire.Create:
		return k.Event.ID, c.create(ctx, k)
	case wire.Configure:
		return k.ID, c.configure(ctx, k)
	case wire.Heartbeat:
		return k.ID, c.send(wire.EncodeOther("session.heartbeat", c.id(), map[string]any{"client_event_id": k.ID}))
	case wire.Bye:
		_ = c.session.Do(ctx, turn.Close{Reason: "client"})
		return k.ID, errBye
	case wire.Do:
		return "", c.session.Do(ctx, k.Event)
	}
	return "", fmt.Errorf("a command of type %T", command)
}

func (c *connection) create(ctx context.Context, k wire.Create) error {
	if len(k.Sound) == 0 {
		return c.session.Do(ctx, k.Event)
	}
	if len(k.Sound) > 1 {
		return &wire.Error{Type: wire.TypeInvalid, Code: wire.CodeUnsupported, Param: "item.content", Message: "an item may have one part of sound"}
	}
	for _, sound := range k.Sound {
		return c.session.CreateItemAudio(ctx, k.Event, sound)
	}
	return nil
}

// configure lays the client's session object over what it asked for so far. The machine
// may still refuse it; then what was told counts again.
func (c *connection) configure(ctx context.Context, k wire.Configure) error {
	base := c.desk.want()
	next, warnings, err := base.Merge(k.Session)
	if err != nil {
		return err
	}
	if err := c.s.imitate(ctx, &next); err != nil {
		return err
	}
	if name := next.Config.Model; name != base.Config.Model && name != c.desk.named {
		c.warn(wire.Warning{Param: "session.model", Message: fmt.Sprintf("the model of a session stays as it is, %q", base.Config.Model)})
	}
	next.Config.Model = base.Config.Model
	if next.Config.TranscriptionOnly != base.Config.TranscriptionOnly {
		return &wire.Error{Type: wire.TypeInvalid, Code: wire.CodeValue, Param: "session.type", Message: "the type of a session stays as it is: open another session"}
	}
	for _, one := range warnings {
		c.warn(one)
	}
	if note, ok := c.s.noVoice(next.Config.Voice); ok {
		c.warn(wire.Warning{Param: "session.audio.output.voice", Message: note})
		next.Config.Voice = base.Config.Voice
	}
	c.desk.ask(k.ID, next)
	return c.session.Do(ctx, turn.Update{ID: k.ID, Config: next.Config})
}

// write sends what the session tells.
func (c *connection) write(ctx context.Context, a *voice.Attachment) {
	stop := context.AfterFunc(ctx, func() { _ = c.ws.SetReadDeadline(time.Now()) })
	defer stop()
	go c.ping(ctx)
	for {
		out, err := a.Next(ctx)
		if err != nil {
			c.goodbye(err)
			return
		}
		if err := c.tell(out); err != nil {
			return
		}
	}
}

func (c *connection) tell(out voice.Out) error {
	switch n := out.Notice.(type) {
	case turn.Closed:
		c.reason = n.Reason
	case turn.SessionCreated:
		if c.extended {
			defer func() {
				_ = c.send(wire.EncodeOther("session.resumable", c.id(), map[string]any{"token": c.session.Token(), "server_event_seq": out.Seq, "grace_ms": 30_000, "chunk_samples": audio.FrameSamples}))
			}()
		}
		defer func() {
			_ = c.send(wire.EncodeOther("conversation.created", c.id(), map[string]any{"conversation": map[string]any{"id": wire.ConversationID, "object": "realtime.conversation"}}))
		}()
	case turn.SessionUpdated:
		c.desk.agreed(n.Config)
	case turn.Failed:
		c.desk.refused(n.Event)
	}
	message, ok := wire.Encode(wire.Event{ID: "event_" + strconv.FormatInt(out.Seq, 10), Notice: out.Notice, Sound: out.Audio, Seq: out.Seq, Epoch: out.Epoch}, c.desk.now(), c.extended)
	if !ok {
		return nil
	}
	return c.send(message)
}

// ping keeps the client's pongs coming.
func (c *connection) ping(ctx context.Context) {
	tick := time.NewTicker(mostSilence / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(mostWrite)) != nil {
				return
			}
		}
	}
}

// goodbye says why the server ends the connection.
func (c *connection) goodbye(err error) {
	code, reason := websocket.CloseNormalClosure, ""
	switch {
	case errors.Is(err, io.EOF):
		reason = c.reason
	case errors.Is(err, voice.ErrReplaced):
		code, reason = websocket.ClosePolicyViolation, "replaced: the session goes on in another connection"
	case errors.Is(err, voice.ErrExpired):
		code, reason = websocket.ClosePolicyViolation, "expired: too much was missed, open a new session"
	case errors.Is(err, voice.ErrSlow):
		code, reason = websocket.CloseTryAgainLater, "slow: the connection does not take what is said; resume when it does"
	case errors.Is(err, context.Canceled):
		return
	default:
		c.s.o.Log.Error("a voice connection failed", "error", err)
		code, reason = websocket.CloseInternalServerErr, "server error"
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(mostWrite))
}

func (c *connection) send(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.ws.SetWriteDeadline(time.Now().Add(mostWrite)); err != nil {
		return err
	}
	return c.ws.WriteMessage(websocket.TextMessage, message)
}

func (c *connection) fail(e *wire.Error) error { return c.send(wire.EncodeError(e, c.id())) }

// warn tells of what has no effect. Clients of the plain API see it in the session object.
func (c *connection) warn(w wire.Warning) {
	if !c.extended {
		c.s.o.Log.Info("an option of a voice session has no effect", "note", w.Param+": "+w.Message)
		return
	}
	_ = c.send(wire.EncodeOther("dure.warning", c.id(), map[string]any{"code": "ignored", "param": w.Param, "message": w.Message}))
}

// id names an event that the connection made, apart from the session's.
func (c *connection) id() string {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.events++
	return "event_c" + strconv.FormatInt(c.events, 10)
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((max(d, time.Second)+time.Second-1)/time.Second), 10)
}
