package card

// Names of the figures.
const (
	FigureLoad    = "load"
	FigurePrefill = "prefill"
	FigureChunk   = "chunk"
	FigureStep    = "step"
	FigureDecode  = "decode"
	FigureShare   = "share"
	FigurePool    = "pool"
	FigureReturn  = "return"
	FigureKVBytes = "kv-bytes"
	FigureKVSpeed = "kv-speed"
	FigureSpec    = "spec"
	FigureMTP     = "mtp"
	FigurePower   = "power"
	FigureHeat    = "temperature"
	FigureServer  = "server"
	FigurePeer    = "peer"
)

// Series that the report itself speaks of.
const (
	SeriesAgain = "read again"            // of FigureShare
	SeriesRatio = ": dure / llama-server" // how those of FigurePeer end
)

// Figures are all that a report can have, in its order.
var Figures = []Figure{
	{Name: FigureLoad, Title: "Load", Unit: "s", Note: "From the order until the model is ready: devices are looked at, the load is planned, a process starts and reads the file, which may have been in the system's cache."},
	{Name: FigurePrefill, Title: "Reading a prompt", X: "prompt tokens", Unit: "tokens/s", LogX: true, Note: "The bare engine, one sequence, from nothing to the length, in pieces of the micro batch."},
	{Name: FigureDecode, Title: "Decode", X: "streams", Unit: "tokens/s, all streams", LogX: true, Note: "The bare engine, a pool for each sequence; each stream has a sequence of its own of the named length."},
	{Name: FigureStep, Title: "A decode step", X: "streams", Unit: "ms", LogX: true, LogY: true, Note: "The same steps: one token of each stream."},
	{Name: FigureChunk, Title: "A piece of a prompt", X: "position", Unit: "ms", Note: "One call that reads so many tokens from a position on."},
	{Name: FigureShare, Title: "A beginning that two share", X: "shared tokens", Unit: "ms to the first token", LogX: true, LogY: true, Note: "The bare engine: a second sequence takes over what the first has read, and computes one token; beside it, reading it again."},
	{Name: FigurePool, Title: "Pools", Unit: "ms", Note: "8 sequences with a common beginning: a step of all, a step of every other one, and 128 tokens of a prompt. The medians of `dure bench pool`."},
	{Name: FigureServer, Title: "The server", X: "streams", Unit: "tokens/s, all streams", LogX: true, Note: "Short prompts and long answers, through scheduler, sampler and process boundary as `dure serve` has them by itself, without HTTP."},
	{Name: FigureReturn, Title: "An agent comes back", Unit: "ms to the first token", Note: "A prompt is read; four others take its place on two sequences; it comes back from RAM; the server is started anew, and it comes back from disk."},
	{Name: FigureKVBytes, Title: "Types of the cache: memory", Unit: "MiB", Note: "What the engine says the cache takes, recurrent state included."},
	{Name: FigureKVSpeed, Title: "Types of the cache: speed", X: "streams", Unit: "ms a step", LogX: true, Note: "A decode step of so many streams at the named length."},
	{Name: FigureSpec, Title: "Speculative decoding", X: "streams", Unit: "speed with / without", LogX: true, Note: "The server with guesses from the text before, beside the same without, in turn."},
	{Name: FigureMTP, Title: "Guesses of the model's own layers", X: "streams", Unit: "speed with / without", LogX: true, Note: "The server with guesses of the model's layers for further tokens (MTP), as many as pay or always so many, beside the same without, in turn. How often they are right depends on the model: those of a synthetic one nearly always are, which shows what is to be won at most."},
	{Name: FigurePower, Title: "Power", X: "seconds", Unit: "W", Note: "As the card's driver tells it, while the bare engine computed."},
	{Name: FigureHeat, Title: "Temperature", X: "seconds", Unit: "degrees Celsius", Note: "As the card's driver tells it, while the bare engine computed."},
	{Name: FigurePeer, Title: "Beside llama-server", Unit: "value", Note: "Both servers in turn on the same file, each fresh and warmed up; as each starts by itself; the ratio is the median of the ratios pair by pair."},
}
