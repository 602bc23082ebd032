package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	benchkv "dure/inference/bench/kv"
)

// kvJournal keeps the parts of a measurement, a line each, behind one that says what is
// measured. Without a file it keeps nothing.
type kvJournal struct {
	file *os.File
	past []benchkv.Done
}

// kvHead is all that a part's figures depend on.
type kvHead struct {
	Schema      int             `json:"schema"`
	Subject     benchkv.Subject `json:"subject"`
	Settings    []string        `json:"settings"`
	Lengths     []int           `json:"lengths"`
	TaskLengths []int           `json:"task_lengths"`
	Follow      int             `json:"follow"`
	Repeats     int             `json:"repeats"`
	Seed        uint64          `json:"seed"`
	Basis       string          `json:"basis,omitempty"` // of the class that is calibrated
}

func kvJournalHead(s benchkv.Subject, opt benchkv.Options) kvHead {
	h := kvHead{Schema: benchkv.Schema, Subject: s, Lengths: opt.Lengths, TaskLengths: opt.TaskLengths, Follow: opt.Follow, Repeats: opt.Repeats, Seed: opt.Seed}
	for _, x := range opt.Settings {
		h.Settings = append(h.Settings, x.Name)
	}
	return h
}

// mostKVLine is far beyond a part: 16,384 divergences for each of a hundred settings.
const mostKVLine = 64 << 20

// openKVJournal reads what a file has, and makes it where there is none.
func openKVJournal(name string, head kvHead) (*kvJournal, error) {
	if name == "" {
		return &kvJournal{}, nil
	}
	first, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--journal: %w", err)
	}
	j := &kvJournal{file: f}
	end, err := j.read(first)
	if err == nil {
		err = f.Truncate(end) // a line that was cut short
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err == nil && end == 0 {
		_, err = f.Write(append(first, '\n'))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("--journal %s: %w", name, err)
	}
	return j, nil
}

// read takes the whole lines, and returns where they end.
func (j *kvJournal) read(first []byte) (end int64, err error) {
	in := bufio.NewReader(j.file)
	for n := 0; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, err
		}
		if n == 0 && !bytes.Equal(line[:len(line)-1], first) {
			return end, errors.New("it is of another measurement (model, engine, dure, settings, lengths or seed differ); name another file")
		}
		if n > 0 {
			var d benchkv.Done
			if err := json.Unmarshal(line, &d); err != nil {
				return end, fmt.Errorf("line %d: %w", n+1, err)
			}
			j.past = append(j.past, d)
		}
		end += int64(len(line))
	}
}

// readLine is a whole line; io.EOF at the end and for one that was cut short.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > mostKVLine:
			return nil, fmt.Errorf("a line is longer than %d bytes", mostKVLine)
		}
	}
}

func (j *kvJournal) keep(d benchkv.Done) error {
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(d)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("--journal: %w", err)
	}
	return nil
}

func (j *kvJournal) close() {
	if j.file != nil {
		j.file.Close() // every line is written by now, or its error was told
	}
}
