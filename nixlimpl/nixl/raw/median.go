package raw

import (
	"slices"
	"time"
)

// Median is the lower median; 0 of nothing. It sorts its argument.
func Median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[(len(times)-1)/2]
}
