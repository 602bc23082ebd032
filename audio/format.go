package audio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Format is how samples are written on a wire.
type Format string

// Formats, by the names of the OpenAI Realtime API, and float32 of the duplex extension.
const (
	PCM16   Format = "audio/pcm"     // 24 kHz, little-endian int16
	Float32 Format = "audio/pcm_f32" // 24 kHz, little-endian float32
	ULaw    Format = "audio/pcmu"    // 8 kHz, G.711 mu-law
	ALaw    Format = "audio/pcma"    // 8 kHz, G.711 A-law
)

// Valid reports whether f is one of the formats above.
func (f Format) Valid() bool {
	switch f {
	case PCM16, Float32, ULaw, ALaw:
		return true
	}
	return false
}

// Rate is the format's samples in a second.
func (f Format) Rate() int {
	if f == ULaw || f == ALaw {
		return 8000
	}
	return Rate
}

// Width is the number of bytes of a sample.
func (f Format) Width() int {
	switch f {
	case PCM16:
		return 2
	case Float32:
		return 4
	}
	return 1
}

// Decode appends the samples that b holds to dst, at the format's own rate. A byte count
// that is no whole number of samples and a float that is no number are errors: both mean
// that the client's idea of the format is another one. Floats beyond [-1, 1] are clipped.
func (f Format) Decode(dst []float32, b []byte) ([]float32, error) {
	if len(b)%f.Width() != 0 {
		return dst, fmt.Errorf("decode %s: %d bytes are no whole number of %d-byte samples", f, len(b), f.Width())
	}
	switch f {
	case PCM16:
		for ; len(b) > 0; b = b[2:] {
			dst = append(dst, float32(int16(binary.LittleEndian.Uint16(b)))/32768)
		}
	case Float32:
		start := len(dst)
		for ; len(b) > 0; b = b[4:] {
			v := math.Float32frombits(binary.LittleEndian.Uint32(b))
			if v != v {
				return dst[:start], fmt.Errorf("decode %s: sample %d is not a number", f, len(dst)-start)
			}
			dst = append(dst, max(-1, min(1, v)))
		}
	case ULaw:
		for _, c := range b {
			dst = append(dst, float32(ulawDecode[c])/32768)
		}
	case ALaw:
		for _, c := range b {
			dst = append(dst, float32(alawDecode[c])/32768)
		}
	default:
		return dst, fmt.Errorf("decode audio: unknown format %q", string(f))
	}
	return dst, nil
}

// Encode appends the bytes of s, which are at the format's own rate, to dst. What a format
// cannot express is clipped.
func (f Format) Encode(dst []byte, s []float32) []byte {
	switch f {
	case PCM16:
		for _, v := range s {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(Int16(v)))
		}
	case Float32:
		for _, v := range s {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	case ULaw:
		for _, v := range s {
			dst = append(dst, encodeULaw(Int16(v)))
		}
	case ALaw:
		for _, v := range s {
			dst = append(dst, encodeALaw(Int16(v)))
		}
	}
	return dst
}

// Int16 is v in [-1, 1] as an int16, rounded to the nearest and clipped. Not a number
// is 0.
func Int16(v float32) int16 {
	x := v * 32768
	switch {
	case x >= 32767:
		return 32767
	case x <= -32768:
		return -32768
	case x != x:
		return 0
	case x < 0:
		return int16(x - 0.5)
	}
	return int16(x + 0.5)
}
