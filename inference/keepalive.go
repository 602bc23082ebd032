package inference

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"
)

// UnloadAtOnce is the shortest time that a model can stay loaded after a request.
const UnloadAtOnce = time.Nanosecond

// ParseKeepAlive reads how long a model stays loaded without a request: "5m", "90"
// (seconds), "0" (UnloadAtOnce), or anything negative, which is for ever.
func ParseKeepAlive(text string) (time.Duration, error) {
	if seconds, err := strconv.Atoi(text); err == nil && math.Abs(float64(seconds)) < math.MaxInt64/float64(time.Second)/2 {
		return cmp.Or(time.Duration(seconds)*time.Second, UnloadAtOnce), nil
	}
	keep, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%.80q is not a time; write for example 5m, 90 (seconds), or -1 for ever", text)
	}
	return cmp.Or(keep, UnloadAtOnce), nil
}
