package turn

import (
	"fmt"
	"strings"

	"dure/audio"
)

// monitor reads effects as a client and a session see them, and says what is against the
// rules of the protocol. It knows nothing of the State.
type monitor struct {
	active    string          // response of the conversation
	live      map[string]bool // all
	ended     map[string]bool
	output    map[string]int // items of a response
	parts     map[string]audio.Samples
	texts     map[string]string // transcript or text, by item
	items     []string          // the conversation's order
	doneItems map[string]bool
	deleted   map[string]bool
	epoch     int64
	speech    string
	opened    bool
	closed    bool
	sent      audio.Samples
}

func newMonitor() *monitor {
	return &monitor{live: map[string]bool{}, ended: map[string]bool{}, output: map[string]int{}, parts: map[string]audio.Samples{},
		texts: map[string]string{}, doneItems: map[string]bool{}, deleted: map[string]bool{}}
}

func (m *monitor) see(n Notice) error {
	if _, refused := n.(Failed); m.closed && !refused {
		return fmt.Errorf("%T after the session closed", n)
	}
	if response := responseOf(n); response != "" && !m.live[response] {
		return fmt.Errorf("%T of %s, which is not in progress", n, response)
	}
	switch n := n.(type) {
	case SessionCreated:
		m.opened = true
	case Closed:
		m.closed = true
		if len(m.live) > 0 {
			return fmt.Errorf("closed with %v in progress", m.live)
		}
	case ResponseCreated:
		return m.created(n.Response)
	case ResponseDone:
		return m.done(n.Response)
	case OutputItemAdded:
		if n.Output != m.output[n.Response] {
			return fmt.Errorf("output %d of %s, %d were there", n.Output, n.Response, m.output[n.Response])
		}
		m.output[n.Response]++
	case ItemAdded:
		return m.itemAdded(n)
	case ItemDone:
		if m.doneItems[n.Item.ID] {
			return fmt.Errorf("item %s is done twice", n.Item.ID)
		}
		m.doneItems[n.Item.ID] = true
	case ItemDeleted:
		m.items = without(m.items, n.Item)
		m.deleted[n.Item] = true
		delete(m.doneItems, n.Item) // the client may use the id again
	case AudioDelta:
		if n.From != m.parts[n.At.Item] || n.Samples <= 0 {
			return fmt.Errorf("%d samples of %s from %d, %d were sent", n.Samples, n.At.Item, n.From, m.parts[n.At.Item])
		}
		if n.Epoch != m.epoch {
			return fmt.Errorf("sound of epoch %d in epoch %d", n.Epoch, m.epoch)
		}
		m.parts[n.At.Item] += n.Samples
		m.sent += n.Samples
	case EpochChanged:
		if n.Epoch <= m.epoch {
			return fmt.Errorf("epoch %d after %d", n.Epoch, m.epoch)
		}
		m.epoch = n.Epoch
	case TextDelta:
		m.texts[n.At.Item] += n.Text
	case AudioTranscript:
		m.texts[n.At.Item] += n.Text
	case TextDone:
		if n.Text != m.texts[n.At.Item] {
			return fmt.Errorf("the text %q is done, %q was sent", n.Text, m.texts[n.At.Item])
		}
	case AudioTranscriptDone:
		if !strings.HasPrefix(m.texts[n.At.Item], n.Text) {
			return fmt.Errorf("the transcript %q is done, %q was sent", n.Text, m.texts[n.At.Item])
		}
	case SpeechStarted:
		if m.speech != "" {
			return fmt.Errorf("speech starts twice: %s, %s", m.speech, n.Item)
		}
		m.speech = n.Item
	case SpeechStopped:
		if m.speech != n.Item {
			return fmt.Errorf("speech %s stops, %s had started", n.Item, m.speech)
		}
		m.speech = ""
	case Committed, Cleared:
		m.speech = ""
	case SessionUpdated:
		if n.Config.Detection.Mode == Manual {
			m.speech = ""
		}
	}
	return nil
}

func responseOf(n Notice) string {
	switch n := n.(type) {
	case ResponseDone:
		return n.Response.ID
	case OutputItemAdded:
		return n.Response
	case OutputItemDone:
		return n.Response
	case PartAdded:
		return n.At.Response
	case PartDone:
		return n.At.Response
	case TextDelta:
		return n.At.Response
	case TextDone:
		return n.At.Response
	case AudioDelta:
		return n.At.Response
	case AudioDone:
		return n.At.Response
	case AudioTranscript:
		return n.At.Response
	case AudioTranscriptDone:
		return n.At.Response
	case ArgumentsDelta:
		return n.At.Response
	case ArgumentsDone:
		return n.At.Response
	}
	return ""
}

func (m *monitor) created(r Response) error {
	switch {
	case m.live[r.ID] || m.ended[r.ID]:
		return fmt.Errorf("response %s is created twice", r.ID)
	case !r.OutOfBand && m.active != "":
		return fmt.Errorf("response %s is created while %s is active", r.ID, m.active)
	case !r.OutOfBand:
		m.active = r.ID
	}
	m.live[r.ID] = true
	return nil
}

func (m *monitor) done(r Response) error {
	delete(m.live, r.ID)
	m.ended[r.ID] = true
	if m.active == r.ID {
		m.active = ""
	}
	if len(r.Items) != m.output[r.ID] {
		return fmt.Errorf("response %s ends with %d items, %d were added", r.ID, len(r.Items), m.output[r.ID])
	}
	var sound audio.Samples
	for _, it := range r.Items {
		if it.Status == InProgress {
			return fmt.Errorf("response %s ends with %s in progress", r.ID, it.ID)
		}
		if !r.OutOfBand && !m.doneItems[it.ID] && !m.deleted[it.ID] {
			return fmt.Errorf("response %s ends before its item %s is done", r.ID, it.ID)
		}
		sound += m.parts[it.ID]
	}
	if sound != r.Samples {
		return fmt.Errorf("response %s ends with %d samples, %d were sent", r.ID, r.Samples, sound)
	}
	return nil
}

func (m *monitor) itemAdded(n ItemAdded) error {
	at := 0
	if n.Previous != "" {
		for at = range m.items {
			if m.items[at] == n.Previous {
				break
			}
		}
		if len(m.items) == 0 || m.items[at] != n.Previous {
			return fmt.Errorf("item %s follows %s, which is not there", n.Item.ID, n.Previous)
		}
		at++
	}
	m.items = append(m.items[:at:at], append([]string{n.Item.ID}, m.items[at:]...)...)
	return nil
}

func without(list []string, s string) []string {
	out := []string{}
	for _, x := range list {
		if x != s {
			out = append(out, x)
		}
	}
	return out
}

// same compares the client's view of the conversation with the State's.
func (m *monitor) same(s *State) error {
	var ids []string
	for _, it := range s.items {
		ids = append(ids, it.ID)
	}
	if strings.Join(ids, " ") != strings.Join(m.items, " ") {
		return fmt.Errorf("the conversation is %v, the client was told %v", ids, m.items)
	}
	if _, sent, _ := s.Counted(); sent != m.sent {
		return fmt.Errorf("%d samples are counted as sent, %d were", sent, m.sent)
	}
	return nil
}
