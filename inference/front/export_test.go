package front

// Limits that tests measure against.
const (
	Patience      = patience
	KeepSilent    = keepAlive
	ReadTimeout   = readTimeout
	HeaderTimeout = headerTimeout
	Linger        = linger
	LeastWait     = leastWait
	MostWait      = mostWait
	DefaultWidth  = defaultWidth
)
