package openai

import (
	"time"
)

// What the front keeps to, as its package comment says.
const (
	patience      = 10 * time.Second
	keepAlive     = 15 * time.Second
	readTimeout   = 60 * time.Second
	headerTimeout = 10 * time.Second
	linger        = 2 * time.Second
	leastWait     = 50 * time.Millisecond
	mostWait      = time.Second
	defaultWidth  = 8
	comment       = ": keep-alive\n\n"
)
