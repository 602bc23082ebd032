package turn

// quietFrames without sound end what a speech model says (400 ms).
const quietFrames = 3

// native is a frame of a speech model. It speaks where nobody else does: an answer of the
// lead agent has the floor, and what was interrupted stays quiet until the model has paused.
func (st *step) native(e Native) {
	if !st.config.Duplex || st.config.TextOnly || st.config.TranscriptionOnly || !st.attached || e.Samples <= 0 {
		return
	}
	r := st.active()
	switch {
	case !e.Loud:
		st.muted = false
	case st.muted:
		return
	}
	if r == nil {
		if !e.Loud {
			return
		}
		r = st.beginNative()
	}
	if !r.model || r.answered {
		return
	}
	r = st.edit(r.ID)
	// What it claims while the lead agent is at work is its own idea.
	r.claims = r.claims || e.Text != "" && st.config.Lead && (len(st.tasks) > 0 || st.awaiting())
	st.nativeFrame(r, e)
	if e.Loud {
		r.quiet = 0
		return
	}
	if r.quiet++; r.quiet >= quietFrames {
		r.answered = true
		r.said[0].done = true
		st.finishIfDone(r)
	}
}

func (st *step) beginNative() *response {
	r := st.begin(ResponseParams{}, "")
	r.asked, r.own, r.model = true, true, true
	st.openMessage(r)
	r.said = []utterance{{}}
	return r
}

// nativeFrame adds the frame's words and sound. One utterance holds all of it.
func (st *step) nativeFrame(r *response, e Native) {
	if e.Text != "" {
		r.text += e.Text
		r.said[0].text += e.Text
		st.emit(AudioTranscript{r.at(), e.Text})
	}
	r.generated += e.Samples
	r.said[0].to = r.generated
	st.State.generated += e.Samples
	st.do(TakeVoice{r.ID})
}
