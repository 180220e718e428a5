package nixl

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// probeSettle is how long a probe waits for harm after a load: UCX goes on in its
// own thread.
const probeSettle = 10 * time.Millisecond

// ServeProbe is what a process that Config.Probe started does: first is the first
// line of its standard input, in the rest of it. It loads metadata into an agent of
// its own and says on file descriptor 3 whether that went well, until in ends. It
// returns the exit code. It may be ended by the library at any time; that is what
// it is for.
func ServeProbe(first []byte, in io.Reader) int {
	noCore()
	out := os.NewFile(3, "answers")
	if out == nil {
		return 2
	}
	say := func(a probeAnswer) bool {
		a.Why = a.Why[:min(len(a.Why), 1000)]
		b, err := json.Marshal(a)
		if err == nil {
			_, err = out.Write(append(b, '\n'))
		}
		return err == nil
	}
	var st probeStart
	if err := json.Unmarshal(first, &st); err != nil || st.Role != RoleProbe || st.Watch <= 0 {
		say(probeAnswer{Why: fmt.Sprintf("first line is no start of a probe: %v", err)})
		return 2
	}
	dog := time.AfterFunc(st.Watch, func() { os.Exit(4) })
	h, err := probeAgent(st)
	if err != nil {
		say(probeAnswer{Why: err.Error()})
		return 3
	}
	dog.Stop()
	say(probeAnswer{OK: true})
	for n := 0; ; n++ {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return 0
		}
		if binary.LittleEndian.Uint32(size[:]) > maxCard {
			return 2
		}
		blob := make([]byte, binary.LittleEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, blob); err != nil {
			return 0
		}
		dog.Reset(st.Watch)
		a := probeAnswer{OK: true}
		if err := probeLoad(h, blob, n); err != nil {
			a = probeAnswer{Why: err.Error()}
		}
		dog.Stop()
		if !say(a) {
			return 0
		}
	}
}

func probeAgent(st probeStart) (handle, error) {
	lib, err := loadUnchecked(st.Library)
	if err != nil {
		return nil, err
	}
	h, rc := createAgent(fmt.Sprintf("kvsettle-probe_%d_%d", os.Getpid(), time.Now().UnixNano()), 0,
		micros(100*time.Millisecond), micros(100*time.Millisecond))
	if rc != success {
		return nil, failed(ReasonSystem, "probe", "create_configured_agent", rc)
	}
	var params []string
	for k, v := range st.Params {
		params = append(params, k, v)
	}
	if _, rc = createBackend(h, st.Backend, params); rc != success {
		return nil, whyNoBackend(lib, st.Backend)
	}
	return h, nil
}

// probeLoad loads the metadata under a name that nobody had, because the library
// never forgets a name that it failed for.
func probeLoad(h handle, blob []byte, n int) error {
	if _, err := blobName(blob); err != nil {
		return err
	}
	name := fmt.Sprintf("probed-%d-%s", n, strings.Repeat("x", 16))
	got, rc := loadMetadata(h, renameBlob(blob, name))
	if rc != success {
		return fmt.Errorf("the library refuses it: %v", rc)
	}
	time.Sleep(probeSettle)
	invalidateMetadata(h, name)
	if got != name {
		return fmt.Errorf("the library loads it under another name")
	}
	return nil
}
