package turn

// ask gives those responses to the responder whose question is complete.
func (st *step) ask() {
	for _, r := range st.live {
		if r.asked || st.confirming && !r.OutOfBand || st.find(r.ID) == nil {
			continue
		}
		if !r.params.HasInput && st.awaiting() {
			continue
		}
		st.askOne(r.ID)
	}
}

// awaiting reports whether the transcript of something that was said is missing.
func (s *State) awaiting() bool {
	for _, l := range s.listening {
		if !l.open {
			return true
		}
	}
	return false
}

func (st *step) askOne(id string) {
	r := st.edit(id)
	said := ""
	if _, it := st.item(r.turn); it != nil {
		said = it.Text()
	}
	if r.turn != "" && !r.idle && said == "" {
		// Nobody said a word: a cough. There is nothing to answer.
		r.asked, r.answered = true, true
		st.finishIfDone(r)
		return
	}
	if st.config.Lead && !r.OutOfBand && len(st.tasks) > 0 && Stops(said) {
		st.confirming, st.confirmItem = true, r.turn
		st.do(ConfirmCancel{said})
		return
	}
	r.asked = true
	st.do(Respond{st.request(r, said)})
}

// request is what the responder is asked: the conversation as the person heard it.
func (st *step) request(r *response, said string) Request {
	c, p := st.config, r.params
	q := Request{Response: r.ID, Model: c.Model, Instructions: c.Instructions, Said: said, Language: st.speakLanguage(),
		TextOnly: r.TextOnly, Tools: c.Tools, Choice: c.Choice, MaxTokens: r.MaxTokens, OutOfBand: r.OutOfBand, Metadata: p.Metadata, Idle: r.idle}
	if p.Instructions != nil {
		q.Instructions = *p.Instructions
	}
	if p.HasTools {
		q.Tools = p.Tools
	}
	if p.Choice != nil {
		q.Choice = *p.Choice
	}
	if p.HasInput {
		for _, it := range p.Input {
			if _, known := st.item(it.ID); known != nil && it.Kind == "" {
				q.History = append(q.History, known.asHeard())
			} else {
				q.History = append(q.History, it)
			}
		}
		return q
	}
	for _, it := range st.items {
		if it.Status != InProgress {
			q.History = append(q.History, it.asHeard())
		}
	}
	if st.interrupted != "" && !r.OutOfBand {
		q.Interrupted = true
		if _, it := st.item(st.interrupted); it != nil {
			heard := it.asHeard()
			q.Heard = heard.Text()
		}
		st.interrupted = ""
	}
	return q
}
