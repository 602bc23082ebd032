package embed

// Pending is how many commands the owner has not looked at yet.
func (e *Embedder) Pending() int { return len(e.inbox) }

// Stopping says that Close was called.
func (e *Embedder) Stopping() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}
