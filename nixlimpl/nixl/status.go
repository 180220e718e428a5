package nixl

import "strconv"

// status is what a call of the library returns.
type status int32

// The statuses that mean something to this package. NIXL before 1.5 reports almost
// every error as backend.
const (
	success    status = 0
	inProgress status = 1
	badParam   status = -1
	backend    status = -2
	badState   status = -3
	notFound   status = -6
	// noFunction is this package's own: the library lacks the function.
	noFunction status = -7
)

// String names the status as the library's documentation does, with its number.
func (s status) String() string {
	name := "status"
	switch s {
	case success:
		name = "success"
	case inProgress:
		name = "in progress"
	case badParam:
		name = "invalid parameter"
	case backend:
		name = "backend error"
	case badState:
		name = "invalid state"
	case notFound:
		name = "not found"
	case noFunction:
		name = "function missing in this library"
	}
	return name + " (" + strconv.Itoa(int(s)) + ")"
}
