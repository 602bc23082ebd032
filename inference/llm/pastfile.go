package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dure/inference/engine"
)

// Past answers go from one process of a model to the next in a file beside its
// saved states: those hold the tokens that were drawn, and a conversation whose
// answers are tokenised anew would not find them.
//
//	magic, then for each conversation, the one used last first:
//	its name, how many tokens, the tokens (uvarint)
//	SHA-256 of all that
//
// The number in its name goes up when the form changes, so that what a later dure
// wrote is not touched. It is written when the model is unloaded; a killed process
// leaves the one of before. What is damaged costs reading answers again, so it is
// not flushed.
const (
	answersFile  = "answers-1"
	answersMagic = "dure past answers 1\n"
)

// answersShare is the part of the disk's bytes that the file may take beside them.
const answersShare = 64

// encode writes as many conversations as fit in so many bytes.
func (p *past) encode(most int) []byte {
	out := []byte(answersMagic)
	for e := p.byUse.Front(); e != nil; e = e.Next() {
		r := e.Value.(*remembered)
		before := len(out)
		out = append(out, r.name[:]...)
		out = binary.AppendUvarint(out, uint64(len(r.tokens)))
		for _, t := range r.tokens {
			out = binary.AppendUvarint(out, uint64(uint32(t)))
		}
		if len(out)+sha256.Size > most {
			out = out[:before]
			break
		}
	}
	sum := sha256.Sum256(out)
	return append(out, sum[:]...)
}

var errAnswers = errors.New("the file of past answers is damaged")

// decode adds what encode wrote to an empty past; all of it or, with an error,
// nothing. Tokens must be of a vocabulary of so many.
func (p *past) decode(data []byte, vocabulary int) error {
	body, ok := bytes.CutPrefix(data, []byte(answersMagic))
	if !ok || len(body) < sha256.Size {
		return errAnswers
	}
	body = body[:len(body)-sha256.Size]
	if sum := sha256.Sum256(data[:len(data)-sha256.Size]); !bytes.Equal(sum[:], data[len(data)-sha256.Size:]) {
		return errAnswers
	}
	var all []remembered
	for len(body) > 0 {
		var r remembered
		if len(body) < len(r.name) {
			return errAnswers
		}
		body = body[copy(r.name[:], body):]
		if r.tokens, body, ok = cutTokens(body, vocabulary); !ok {
			return errAnswers
		}
		all = append(all, r)
	}
	for i := len(all) - 1; i >= 0; i-- { // the one used last ends in front
		p.remember(all[i].name, all[i].tokens, nil)
	}
	return nil
}

// cutTokens reads a list of tokens off the front.
func cutTokens(body []byte, vocabulary int) (tokens []engine.Token, rest []byte, ok bool) {
	count, n := binary.Uvarint(body)
	if n <= 0 || count > uint64(len(body)-n) { // each takes a byte at least
		return nil, nil, false
	}
	body = body[n:]
	tokens = make([]engine.Token, count)
	for i := range tokens {
		t, n := binary.Uvarint(body)
		if n <= 0 || t >= uint64(vocabulary) {
			return nil, nil, false
		}
		tokens[i], body = engine.Token(t), body[n:]
	}
	return tokens, body, true
}

// recallFrom reads what the process before remembered; folder is empty where
// nothing is kept on disk.
func (l *LLM) recallFrom(folder string) {
	if folder == "" || l.cfg.Rerender {
		return
	}
	data, err := os.ReadFile(filepath.Join(folder, answersFile))
	if err == nil {
		l.reentry.mu.Lock()
		l.reentry.past.limit = l.reentryLimit()
		err = l.reentry.past.decode(data, l.model.Facts().Vocabulary)
		l.reentry.mu.Unlock()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.log.Warn("past answers of before the load are read again", "model", l.cfg.Name, "error", err)
	}
}

// keepIn writes what the next process is to remember.
func (l *LLM) keepIn(folder string) {
	if folder == "" || l.cfg.Rerender {
		return
	}
	l.reentry.mu.Lock()
	data := l.reentry.past.encode(int(min(l.cfg.CacheDisk.Bytes/answersShare, int64(l.reentryLimit()))))
	l.reentry.mu.Unlock()
	file := filepath.Join(folder, answersFile)
	part := file + ".tmp" // removed with what else is half written there
	err := os.WriteFile(part, data, 0o600)
	if err == nil {
		err = os.Rename(part, file)
	}
	if err != nil {
		l.log.Warn("past answers are not kept", "model", l.cfg.Name, "error", fmt.Errorf("write %s: %w", file, err))
	}
}

// reentryLimit is what past answers may take of memory.
func (l *LLM) reentryLimit() int {
	if l.cfg.ReentryBytes != 0 {
		return l.cfg.ReentryBytes
	}
	return defaultReentryBytes
}
