package nixl

import (
	"time"

	"github.com/kvsettle/kvsettle/nixlimpl/transport"
)

// RawWrite writes src to dst with nothing but the library's own calls, for
// benchmarks: in pieces of chunk bytes, at most window of them under way, polled
// without a pause in the caller's goroutine. It returns how long that took until the
// last success. Nobody else may use the agent meanwhile. An error leaves writes
// under way; close the agent then.
func (a *Agent) RawWrite(peer string, src []byte, dst transport.Target, chunk, window int) (time.Duration, error) {
	if err := a.enter("raw write " + peer); err != nil {
		return 0, err
	}
	defer a.leave()
	p, err := a.hold("raw write", peer)
	if err != nil {
		return 0, err
	}
	defer a.drop(p)
	if len(src) == 0 || chunk <= 0 || window <= 0 || uint64(len(src)) > dst.Len {
		return 0, outside(peer, "%d bytes for %d in pieces of %d", len(src), dst.Len, chunk)
	}
	open := make([]handle, 0, window)
	start := time.Now()
	for at := 0; at < len(src) || len(open) > 0; {
		if at < len(src) && len(open) < window {
			part := src[at:min(at+chunk, len(src))]
			req, stage, st := write(a.h, false, p.cname, addressOf(part), len(part), dst.Addr+uint64(at), dst.Device, nil)
			if stage < stagePost || st != success && st != inProgress {
				return 0, failed(ReasonPeerGone, "raw write "+peer, "post_xfer_req", st)
			}
			at += len(part)
			if st == success {
				freeRequest(a.h, req)
				continue
			}
			open = append(open, req)
			if len(open) < window && at < len(src) {
				continue
			}
		}
		for i := 0; i < len(open); {
			switch st := requestStatus(a.h, open[i]); st {
			case inProgress:
				i++
			case success:
				freeRequest(a.h, open[i])
				open = append(open[:i], open[i+1:]...)
			default:
				return 0, failed(ReasonPeerGone, "raw write "+peer, "get_xfer_status", st)
			}
		}
	}
	return time.Since(start), nil
}
