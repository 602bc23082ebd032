package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// WAV is a sound file's content, mixed to one channel.
type WAV struct {
	Rate int
	PCM  []float32
	// Label is what the file says about its origin (the comment of its LIST/INFO
	// chunk). SyntheticLabel marks speech that no person said.
	Label string
}

// SyntheticLabel is written into every file of synthesised speech: a machine-readable
// mark that it is synthetic.
const SyntheticLabel = "synthetic speech; AI-generated"

// Software names the writer in the files.
const Software = "dure"

// ErrTooLong is in the error of ReadWAV for a file with more samples than asked for.
var ErrTooLong = errors.New("sound is too long")

// Codes of the fmt chunk.
const (
	wavPCM        = 1
	wavFloat      = 3
	wavALaw       = 6
	wavULaw       = 7
	wavExtensible = 0xfffe
)

type wavFormat struct {
	code, channels, bits int
	rate                 int
}

// width is the bytes of a sample, 0 for a kind that is not known.
func (f wavFormat) width() int {
	switch {
	case f.code == wavPCM && (f.bits == 8 || f.bits == 16 || f.bits == 24 || f.bits == 32):
		return f.bits / 8
	case f.code == wavFloat && f.bits == 32:
		return 4
	case (f.code == wavALaw || f.code == wavULaw) && f.bits == 8:
		return 1
	}
	return 0
}

// ReadWAV reads a RIFF WAVE file of PCM (8, 16, 24, 32 bits), 32-bit float or G.711. It
// reads at most most samples of a channel; a longer file is an error that wraps
// ErrTooLong. Files that end before their header says (streams, broken downloads) give
// what they hold.
func ReadWAV(r io.Reader, most int) (*WAV, error) {
	w, err := readWAV(bufio.NewReader(r), most)
	if err != nil {
		return nil, fmt.Errorf("read WAV: %w", err)
	}
	return w, nil
}

func readWAV(r *bufio.Reader, most int) (*WAV, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if string(head[:4]) != "RIFF" || string(head[8:]) != "WAVE" {
		return nil, errors.New("this is no RIFF WAVE file")
	}
	out, format := &WAV{}, wavFormat{}
	found := false
	for {
		id, size, err := chunkHead(r)
		if err != nil {
			if found && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
				return out, nil
			}
			return nil, fmt.Errorf("no sound in it: %w", err)
		}
		switch {
		case id == "fmt " && !found:
			if format, err = readFormat(r, size); err != nil {
				return nil, err
			}
			out.Rate = format.rate
		case id == "data" && !found:
			if format.channels == 0 {
				return nil, errors.New("the sound comes before its format")
			}
			if out.PCM, err = readData(r, size, format, most); err != nil {
				return nil, err
			}
			found = true
			err = discard(r, int64(size&1))
		case id == "LIST":
			out.Label, err = readLabel(r, size, out.Label)
		default:
			err = discard(r, int64(size)+int64(size&1))
		}
		if err != nil && !found {
			return nil, fmt.Errorf("chunk %q: %w", id, err)
		}
	}
}

func chunkHead(r io.Reader) (string, uint32, error) {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", 0, err
	}
	return string(b[:4]), binary.LittleEndian.Uint32(b[4:]), nil
}

func discard(r io.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

func readFormat(r io.Reader, size uint32) (wavFormat, error) {
	if size < 16 || size > 1024 {
		return wavFormat{}, fmt.Errorf("a format chunk of %d bytes", size)
	}
	b := make([]byte, size+size&1)
	if _, err := io.ReadFull(r, b); err != nil {
		return wavFormat{}, fmt.Errorf("format chunk: %w", err)
	}
	f := wavFormat{
		code: int(binary.LittleEndian.Uint16(b)), channels: int(binary.LittleEndian.Uint16(b[2:])),
		rate: int(min(binary.LittleEndian.Uint32(b[4:]), math.MaxInt32)), bits: int(binary.LittleEndian.Uint16(b[14:])),
	}
	if f.code == wavExtensible && size >= 26 {
		f.code = int(binary.LittleEndian.Uint16(b[24:]))
	}
	switch {
	case f.width() == 0:
		return f, fmt.Errorf("format %d with %d bits is not supported (PCM 8 to 32 bits, float 32, G.711 are)", f.code, f.bits)
	case f.channels < 1 || f.channels > 16:
		return f, fmt.Errorf("%d channels (1 to 16 are supported)", f.channels)
	case f.rate < MinRate || f.rate > MaxRate:
		return f, fmt.Errorf("%d Hz (%d to %d are supported)", f.rate, MinRate, MaxRate)
	}
	return f, nil
}

// readData reads piece by piece: the size in the header is a claim.
func readData(r io.Reader, size uint32, f wavFormat, most int) ([]float32, error) {
	step := f.width() * f.channels
	left := int64(size)
	if size == 0 || size == math.MaxUint32 {
		left = math.MaxInt64 // a stream's writer did not know
	}
	var pcm []float32
	buf := make([]byte, step*4096)
	for left > 0 {
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), left)])
		left -= int64(n)
		for b := buf[:n-n%step]; len(b) > 0; b = b[step:] {
			if len(pcm) >= most {
				return nil, fmt.Errorf("%w: more than %d samples", ErrTooLong, most)
			}
			pcm = append(pcm, mix(b[:step], f))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("sound: %w", err)
		}
	}
	return pcm, nil
}

func mix(b []byte, f wavFormat) float32 {
	var sum float32
	for ; len(b) > 0; b = b[f.width():] {
		sum += sampleOf(b, f)
	}
	return sum / float32(f.channels)
}

func sampleOf(b []byte, f wavFormat) float32 {
	switch {
	case f.code == wavULaw:
		return float32(ulawDecode[b[0]]) / 32768
	case f.code == wavALaw:
		return float32(alawDecode[b[0]]) / 32768
	case f.code == wavFloat:
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if v != v {
			return 0
		}
		return max(-1, min(1, v))
	}
	switch f.bits {
	case 8:
		return (float32(b[0]) - 128) / 128
	case 16:
		return float32(int16(binary.LittleEndian.Uint16(b))) / 32768
	case 24:
		return float32(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)>>8) / (1 << 23)
	}
	return float32(int32(binary.LittleEndian.Uint32(b))) / (1 << 31)
}

// readLabel looks for the comment in a LIST/INFO chunk.
func readLabel(r io.Reader, size uint32, label string) (string, error) {
	if size > 64<<10 {
		return label, discard(r, int64(size)+int64(size&1))
	}
	b := make([]byte, size+size&1)
	if _, err := io.ReadFull(r, b); err != nil {
		return label, err
	}
	b = b[:size]
	if len(b) < 4 || string(b[:4]) != "INFO" {
		return label, nil
	}
	for b = b[4:]; len(b) >= 8; {
		id, n := string(b[:4]), int(min(binary.LittleEndian.Uint32(b[4:]), uint32(len(b)-8)))
		if id == "ICMT" {
			for n > 0 && b[8+n-1] == 0 {
				n--
			}
			return string(b[8 : 8+n]), nil
		}
		b = b[min(len(b), 8+n+n&1):]
	}
	return label, nil
}
