//go:build !cgo || !linux

package nixl

import (
	"errors"
	"time"
	"unsafe"
)

// withCgo says whether this program can load the library at all.
const withCgo = false

type handle = unsafe.Pointer

const (
	stageArguments = iota
	stageCreate
	stagePost
)

type peerName struct{}

type noticeMap struct{}

var errNoCgo = errors.New("this program was built without cgo")

func openLibrary(string) error                                 { return errNoCgo }
func preloadLibrary(string) error                              { return errNoCgo }
func missingFunctions() []string                               { return nil }
func mappedFile(string) string                                 { return "" }
func setEnv(string, string)                                    {}
func createAgent(string, int, uint64, uint64) (handle, status) { return nil, noFunction }
func destroyAgent(handle) status                               { return noFunction }
func createBackend(handle, string, []string) (handle, status)  { return nil, noFunction }
func destroyBackend(handle) status                             { return noFunction }
func availablePlugins(handle) (string, status)                 { return "", noFunction }
func registerMemory(handle, uint64, int, uint32, bool) status  { return noFunction }
func localMetadata(handle) ([]byte, status)                    { return nil, noFunction }
func loadMetadata(handle, []byte) (string, status)             { return "", noFunction }
func checkMetadata(handle, string) status                      { return noFunction }
func invalidateMetadata(handle, string) status                 { return noFunction }
func fetchMetadata(handle, string, string, int) status         { return noFunction }
func newPeerName(string) peerName                              { return peerName{} }
func (peerName) free()                                         {}
func requestStatus(handle, handle) status                      { return noFunction }
func freeRequest(handle, handle) status                        { return noFunction }
func sendNotice(handle, peerName, []byte) status               { return noFunction }
func newNoticeMap() (noticeMap, status)                        { return noticeMap{}, noFunction }
func (noticeMap) free()                                        {}
func write(handle, bool, peerName, uint64, int, uint64, uint32, []byte) (handle, int, status) {
	return nil, stageArguments, noFunction
}

func (noticeMap) idle(handle, int, time.Duration, time.Duration) {}

func (noticeMap) take(handle, int, int, func(string, []byte)) (int, int, status) {
	return 0, 0, noFunction
}
