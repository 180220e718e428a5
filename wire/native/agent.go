package native

import (
	"strconv"
	"strings"

	"github.com/kvsettle/kvsettle/wire"
)

// AgentState names one agent: the whole agent name, descriptor included, and
// where to connect to ("ip:port"). Both may hold any bytes.
type AgentState struct {
	Name, ConnInfo string
}

const minAgent = 16

// AppendAgent appends the encoding of a.
func AppendAgent(dst []byte, a AgentState) []byte {
	return appendStr(appendStr(dst, a.Name), a.ConnInfo)
}

// DecodeAgent decodes exactly one AgentState. The strings are copies.
func DecodeAgent(b []byte) (AgentState, error) {
	return decode("agentState", Mid2026, b, readAgent)
}

func readAgent(r *reader, dst *AgentState) {
	name, conn := r.str("agentName"), r.str("connectionInfo")
	if dst != nil {
		dst.Name, dst.ConnInfo = string(name), string(conn)
	}
}

// ValidateAddress refuses connection info that the NIXL agent would split wrongly:
// it must hold exactly one colon (KS-NAT-21). Other transports have their own
// forms, so Validate does not call it.
func ValidateAddress(connInfo string) error {
	if n := strings.Count(connInfo, ":"); n != 1 {
		return refuse(wire.ReasonBadValue, reqAddress, "connectionInfo", strconv.Itoa(n)+" colons")
	}
	return nil
}
