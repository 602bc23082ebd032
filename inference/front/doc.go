// Package front is what all HTTP surfaces stand on: a request comes in here, its
// surface decodes it, a model answers, and what the surface encodes goes out from
// here.
//
// It owns how many connections there are ([Crowd]), the checks at the door (Host,
// Origin, API key), the route table, reading a body within its limits, deadlines,
// request ids, the log line and the metrics of a request, the way of a generation
// through a model, how a stream is written and its silences are filled, and the routes
// of the server's own: /v1/dure/*, /health and /metrics. It does not own models, queues
// or processes and decides nothing about them: whatever implements [Models] does; nor
// any client's wire format: a [Surface] does. It imports nothing of ours but the
// vocabulary package inference and its own package strict. Surfaces import it; only
// cmd/dure builds it.
//
// Invariants:
//   - No answer waits for a body that it does not need: it is sent at once and
//     the connection ends with it. No read from a client is without a deadline
//     but the one that notices the end of a client that waits for its answer.
//   - The bodies of all requests together hold at most Options.BodyBudget bytes;
//     what would be more is refused with 503.
//   - Every error becomes one [Failure], whatever the surface, and has the form of
//     the surface that its path belongs to, also where no route fits. An error that
//     nobody foresaw is a 500 whose text reaches the log only, never a client.
//   - The HTTP status is decided before the first byte: a stream begins only
//     after the model took the request, or after 10 seconds of waiting for that
//     (a load, a full machine). A failure later on is what [StreamForm] says.
//   - A request that names a deadline ends with 504, one whose agent is stopped
//     with 409, wherever it stands: while its model is loaded, in the queue,
//     between its choices; inside a stream as a failure later on. The stock clients
//     are told not to repeat either.
//   - A stream is never silent for longer than 15 seconds.
//   - A client that is gone or does not read cancels its generation. One that
//     closed only its sending side cannot be told from one that is gone: its
//     connection is cut, so that it does not take what it has for an answer.
//   - A model's events come to an [Answer] in order: a choice starts, has pieces
//     with something in them, and ends; anything else is an error.
//   - Neither bodies nor keys reach the log; the name of a key does.
//   - A request that works a model is admitted by the holder of its key (Holder.Admit)
//     before the model is opened, and settled once with what it took, however it ends:
//     what a cancelled or failed answer took is known to the piece.
//   - Sessions and agents of a named key have the key's name and a slash before their
//     own, for the model and for Team: keys do not meet. Routes that concern the whole
//     server are marked Admin.
//
// # Choices
//
// A [Generation] may have several requests; each is a choice of its answer. As many
// run at once as the model decodes at once (inference.Info.Sequences), so one
// client does not fill the queue for others; the rest follows as places become
// free, and waits where others took them meanwhile. One failure cancels all choices
// and fails the request: with a status while no byte is out, inside the stream
// after that. Usage counts a prompt once and sums all else, times included.
//
// # Callers
//
// A request may tell who asks, how urgent it is and what follows
// (inference.Caller): in the body's fields session, agent, parent, priority,
// deadline_ms, next, pin_prefix and keep_alive, where a surface takes them
// ([CallerFields]), or on any surface in the headers X-Dure-Session, X-Dure-Agent,
// X-Dure-Parent, X-Dure-Priority, X-Dure-Deadline-Ms, X-Dure-Next,
// X-Dure-Pin-Prefix and X-Dure-Keep-Alive ([AddHeaders]). What is told twice must be
// the same in both places. A deadline counts from the request's header, and the
// model is told what is left of it. keep_alive is how long the model stays loaded
// when nobody else asks for it. All choices of a request are one request of its
// agent. Which agents there are, and what a stop reaches, is for [Team] to know.
//
// # Goroutines
//
// A handler lives in the goroutine of its request, which alone encodes. With
// one choice it pulls the model's events itself. With several, each running
// choice has a goroutine that only pulls and hands its events over a bounded
// channel. A stream also has a timer that fills silences; a lock around each
// write keeps it from the handler's. Nothing outlives the handler.
package front
