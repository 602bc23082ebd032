// Package client is a client of the OpenAI Realtime API over a WebSocket, as small as our
// own tools need: `dure talk`, `dure bench voice`, tests. It knows sound at 24 kHz and the
// fields that they look at; of everything else it gives the JSON.
package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"dure/audio"

	"github.com/gorilla/websocket"
)

// Options of a connection.
type Options struct {
	// URL of the server, with or without /v1.
	URL   string
	Key   string
	Query url.Values // model, duplex, resume, ...
	// Dialer is for TLS and tests; nil is the usual one.
	Dialer *websocket.Dialer
}

// Client is a connection. One goroutine may call Next while others send.
type Client struct {
	ws *websocket.Conn
	mu sync.Mutex // held while something is written
}

// Refused is a server that did not open a conversation.
type Refused struct {
	Status  int
	Code    string
	Message string
}

func (r *Refused) Error() string {
	return fmt.Sprintf("the server refused the conversation: %s (%s, status %d)", r.Message, r.Code, r.Status)
}

// Dial opens a conversation.
func Dial(ctx context.Context, o Options) (*Client, error) {
	at, err := address(o)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if o.Key != "" {
		header.Set("Authorization", "Bearer "+o.Key)
	}
	dialer := o.Dialer
	if dialer == nil {
		dialer = websocket.DefaultDialer
	}
	ws, resp, err := dialer.DialContext(ctx, at, header)
	if errors.Is(err, websocket.ErrBadHandshake) && resp != nil {
		defer resp.Body.Close()
		var body struct {
			Error struct{ Code, Message string }
		}
		_ = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&body)
		if body.Error.Message == "" {
			body.Error.Message = "it is no realtime server"
		}
		return nil, &Refused{resp.StatusCode, body.Error.Code, body.Error.Message}
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", at, err)
	}
	ws.SetReadLimit(32 << 20)
	return &Client{ws: ws}, nil
}

// address is the WebSocket's of a server.
func address(o Options) (string, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return "", fmt.Errorf("server %q: %w", o.URL, err)
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = "ws"
	case "https", "wss":
		u.Scheme = "wss"
	default:
		return "", fmt.Errorf("server %q: http:// or https:// is expected", o.URL)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") + "/v1/realtime"
	u.RawQuery = o.Query.Encode()
	return u.String(), nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.ws.Close() }

// Send sends an event.
func (c *Client) Send(event map[string]any) error {
	message, err := json.Marshal(event)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.ws.SetWriteDeadline(time.Now().Add(30 * time.Second))
	return c.ws.WriteMessage(websocket.TextMessage, message)
}

// Append sends sound of the person, at audio.Rate.
func (c *Client) Append(pcm []float32) error {
	return c.Send(map[string]any{"type": "input_audio_buffer.append", "audio": base64.StdEncoding.EncodeToString(audio.PCM16.Encode(nil, pcm))})
}

// Say sends text as a message of the person, and asks for an answer.
func (c *Client) Say(text string) error {
	item := map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}
	return errors.Join(c.Send(map[string]any{"type": "conversation.item.create", "item": item}), c.Send(map[string]any{"type": "response.create"}))
}

// Event is what a server tells.
type Event struct {
	Type       string `json:"type"`
	EventID    string `json:"event_id"`
	ItemID     string `json:"item_id"`
	ResponseID string `json:"response_id"`
	Delta      string `json:"delta"`
	Transcript string `json:"transcript"`
	Text       string `json:"text"`
	Name       string `json:"name"`
	Arguments  string `json:"arguments"`
	CallID     string `json:"call_id"`
	Message    string `json:"message"` // of dure.warning
	StartMS    int64  `json:"audio_start_ms"`
	EndMS      int64  `json:"audio_end_ms"`
	Seq        int64  `json:"server_event_seq"`
	Token      string `json:"token"`
	Error      *struct {
		Type, Code, Message, Param string
	} `json:"error"`
	Response *struct {
		ID      string `json:"id"`
		Status  string `json:"status"`
		Details *struct {
			Reason string `json:"reason"`
			Error  *struct{ Code, Message string }
		} `json:"status_details"`
	} `json:"response"`
	Session json.RawMessage `json:"session"`

	Raw json.RawMessage `json:"-"`
	At  time.Time       `json:"-"`
}

// Sound is what an output_audio.delta carries, at audio.Rate.
func (e *Event) Sound() ([]float32, error) {
	b, err := base64.StdEncoding.DecodeString(e.Delta)
	if err != nil {
		return nil, fmt.Errorf("sound of %s: %w", e.EventID, err)
	}
	return audio.PCM16.Decode(nil, b)
}

// Ended is the server's end of the conversation.
type Ended struct {
	Code   int // of the WebSocket
	Reason string
}

func (e *Ended) Error() string {
	if e.Reason == "" {
		return "the server ended the conversation"
	}
	return "the server ended the conversation: " + e.Reason
}

// Hangup ends the session, rather than leaving it to wait for this client to come back. It
// is an event of ours: the connection was opened with dure=1 or duplex=1.
func (c *Client) Hangup() error {
	return errors.Join(c.Send(map[string]any{"type": "session.close"}), c.Close())
}

// Next waits for an event. *Ended is an orderly end.
func (c *Client) Next() (*Event, error) {
	_, message, err := c.ws.ReadMessage()
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return nil, &Ended{closed.Code, closed.Text}
	}
	if err != nil {
		return nil, err
	}
	e := &Event{Raw: message, At: time.Now()}
	if err := json.Unmarshal(message, e); err != nil {
		return nil, fmt.Errorf("an event that is not understood: %w", err)
	}
	return e, nil
}
