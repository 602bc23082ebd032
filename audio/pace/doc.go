// Package pace says when sound is due and what to do when it is late: due times without
// drift, how much may be sent ahead, lateness and its consequences, admission, and the
// histograms that publish all of it.
//
// Decisions here are pure: times are given, never read. The one goroutine of a voice
// session calls them; histograms may be shared by many.
//
// The definitions: due(k) = t0 + k * 2/15 s on the monotonic clock. Wake lateness is when
// the pump woke less when frame k was due. Compute is from a frame's arrival to its being
// dealt with. A miss is a frame that was ready later than its budget. An underrun is a
// person's playout buffer that runs empty within an utterance. TTFA is from the end of the
// person's speech to the first sound of the answer sent. Barge-in stop is from the onset of
// the person's speech to the last sound of the answer sent. Heard error is by how much the
// session's own idea of what was heard differs from the client's.
package pace
