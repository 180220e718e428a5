package cleanup

// MaxRanks is the largest number of local ranks that vote.
const MaxRanks = 64

// Tally is the one clean-up vote of an iteration about one request: ready holds the
// ranks that voted to clean up, entered those that took part. It is true only when
// every one of the ranks did both. One rank's failure fails the request everywhere
// and proves nothing about another rank's memory, so nobody cleans up without it. A
// rank that never enters is ended by its watchdog, and the round by round-deadline.
func Tally(ranks int, ready, entered uint64) bool {
	if ranks < 1 || ranks > MaxRanks {
		return false
	}
	all := ^uint64(0) >> (MaxRanks - ranks)
	return ready&entered&all == all
}
