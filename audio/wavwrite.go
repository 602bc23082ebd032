package audio

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// WriteWAV writes 16-bit PCM. label, where it is not empty, goes into a LIST/INFO chunk.
func WriteWAV(w io.Writer, rate int, pcm []float32, label string) error {
	if int64(len(pcm)) > (math.MaxUint32-4096)/2 {
		return fmt.Errorf("write WAV: %d samples are more than the format can say", len(pcm))
	}
	head := wavHead(rate, uint32(2*len(pcm)), label)
	out := bufio.NewWriter(w)
	if _, err := out.Write(head); err != nil {
		return fmt.Errorf("write WAV: %w", err)
	}
	for _, v := range pcm {
		s := Int16(v)
		if err := errors.Join(out.WriteByte(byte(s)), out.WriteByte(byte(uint16(s)>>8))); err != nil {
			return fmt.Errorf("write WAV: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write WAV: %w", err)
	}
	return nil
}

// StreamWAV is the head of a file of 16-bit PCM whose length is not known yet: readers take
// what comes until the end.
func StreamWAV(rate int, label string) []byte {
	return wavHead(rate, math.MaxUint32-4096, label)
}

// wavHead is everything before size bytes of sound.
func wavHead(rate int, size uint32, label string) []byte {
	info := infoChunk(label)
	head := make([]byte, 0, 64+len(info))
	head = append(head, "RIFF"...)
	head = binary.LittleEndian.AppendUint32(head, uint32(4+24+len(info)+8)+size)
	head = append(head, "WAVEfmt "...)
	head = binary.LittleEndian.AppendUint32(head, 16)
	head = binary.LittleEndian.AppendUint16(head, wavPCM)
	head = binary.LittleEndian.AppendUint16(head, 1)
	head = binary.LittleEndian.AppendUint32(head, uint32(rate))
	head = binary.LittleEndian.AppendUint32(head, uint32(2*rate))
	head = binary.LittleEndian.AppendUint16(head, 2)
	head = binary.LittleEndian.AppendUint16(head, 16)
	head = append(head, info...)
	head = append(head, "data"...)
	head = binary.LittleEndian.AppendUint32(head, size)
	return head
}

func infoChunk(label string) []byte {
	if label == "" {
		return nil
	}
	label = label[:min(len(label), 4096)]
	body := append([]byte("INFO"), infoEntry("ISFT", Software)...)
	body = append(body, infoEntry("ICMT", label)...)
	return append(binary.LittleEndian.AppendUint32([]byte("LIST"), uint32(len(body))), body...)
}

func infoEntry(id, text string) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(id), uint32(len(text)+1))
	b = append(append(b, text...), 0)
	if len(b)%2 == 1 {
		b = append(b, 0)
	}
	return b
}
