package speech

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// A frame is a header of nine bytes and a body. Header, little endian: the body's length
// in bytes (4), the stream (4), the kind (1). The parent numbers streams from 1 and never
// uses a number again; 0 is the child itself.
type frame struct {
	stream uint32
	kind   byte
	body   []byte
}

// Kinds of frames. Sound is float32, little endian.
const (
	kOpen   = 1 // parent: begins a stream; JSON of opening
	kSound  = 2 // either: samples
	kFinish = 3 // parent: no more sound comes; the text is wanted
	kReset  = 4 // parent: forget what was heard
	kPeek   = 6 // parent: the text so far is wanted now
	kClose  = 5 // parent: the stream is over, whatever is under way

	kHeard   = 10 // child: a probability for every hop that a kSound completed, also none
	kPartial = 11 // child: how many samples the text so far is of (4 bytes), and it, UTF-8
	kText    = 12 // child: JSON of Transcript; the stream is over
	kEnd     = 13 // child: all is said; the stream is over
	kError   = 14 // child: JSON of failure; the stream is over
	kRate    = 15 // child: samples a second of the sound that follows, 4 bytes
	kReady   = 16 // child, stream 0: JSON of Info; the engines are loaded
)

const (
	headerBytes = 9
	// maxBody bounds a frame: 8 s of sound at 16 kHz.
	maxBody = 512 << 10
	// maxSamples is what one frame of sound holds.
	maxSamples = maxBody / 4
)

// opening is the body of kOpen.
type opening struct {
	Kind     string  `json:"kind"` // "vad", "stt" or "tts"
	Language string  `json:"language,omitempty"`
	Voice    string  `json:"voice,omitempty"`
	Text     string  `json:"text,omitempty"`
	Speed    float64 `json:"speed,omitempty"`
	Partial  bool    `json:"partial,omitempty"`
}

// failure is the body of kError.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// readFrame reads one frame; io.EOF at the end of the input.
func readFrame(r io.Reader, buf []byte) (frame, []byte, error) {
	var head [headerBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("speech: a frame was cut off: %w", err)
		}
		return frame{}, buf, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	f := frame{stream: binary.LittleEndian.Uint32(head[4:]), kind: head[8]}
	if n > maxBody {
		return frame{}, buf, fmt.Errorf("speech: a frame of %d bytes, at most %d are possible", n, maxBody)
	}
	if uint32(cap(buf)) < n {
		buf = make([]byte, n)
	}
	f.body = buf[:n]
	if _, err := io.ReadFull(r, f.body); err != nil {
		return frame{}, buf, fmt.Errorf("speech: a frame was cut off: %w", err)
	}
	return f, buf, nil
}

// writer writes whole frames from any goroutine.
type writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func (w *writer) write(stream uint32, kind byte, body []byte) error {
	if len(body) > maxBody {
		return fmt.Errorf("speech: a frame of %d bytes, at most %d are possible", len(body), maxBody)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = binary.LittleEndian.AppendUint32(w.buf[:0], uint32(len(body)))
	w.buf = binary.LittleEndian.AppendUint32(w.buf, stream)
	w.buf = append(append(w.buf, kind), body...)
	_, err := w.w.Write(w.buf)
	return err
}

func (w *writer) json(stream uint32, kind byte, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.write(stream, kind, body)
}

// sound writes samples in as many frames as they need, at least one.
func (w *writer) sound(stream uint32, kind byte, pcm []float32) error {
	for first := true; first || len(pcm) > 0; first = false {
		n := min(len(pcm), maxSamples)
		if err := w.write(stream, kind, encode(nil, pcm[:n])); err != nil {
			return err
		}
		pcm = pcm[n:]
	}
	return nil
}

func encode(dst []byte, pcm []float32) []byte {
	for _, v := range pcm {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}

// decode appends the samples of a body to dst; bytes that are no whole sample are an
// error, and what is not a number is silence.
func decode(dst []float32, body []byte) ([]float32, error) {
	if len(body)%4 != 0 {
		return dst, fmt.Errorf("speech: %d bytes are no whole number of samples", len(body))
	}
	for ; len(body) > 0; body = body[4:] {
		v := math.Float32frombits(binary.LittleEndian.Uint32(body))
		if v != v || v > math.MaxFloat32 || v < -math.MaxFloat32 {
			v = 0
		}
		dst = append(dst, v)
	}
	return dst, nil
}
