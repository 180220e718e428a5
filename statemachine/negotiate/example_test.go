package negotiate_test

import (
	"fmt"

	"github.com/kvsettle/kvsettle/statemachine/negotiate"
	"github.com/kvsettle/kvsettle/wire/descriptor"
)

const (
	enabledPeer  = "ctx-1__trtllm_protocol_v1_1_1_3_1_00000000000000a1__trtllm_protocol_end"
	baselinePeer = "ctx-2__trtllm_protocol_v1_1_1_3_0_00000000000000a2__trtllm_protocol_end"
)

func ExampleValidatePeers() {
	local := descriptor.Default(descriptor.Enabled, 7)
	v := negotiate.ValidatePeers(local, []string{enabledPeer})
	fmt.Println(v, v.Compatible, v.SelectedVersion)
	v = negotiate.ValidatePeers(local, []string{enabledPeer, baselinePeer})
	fmt.Println(v, v.Compatible, v.CanReject)
	// Output:
	// V_OK true 1
	// V_MODE at rank 1 false true
}

func ExampleGEN() {
	local := descriptor.Default(descriptor.Enabled, 7)
	for _, peer := range []string{enabledPeer, baselinePeer, "ctx-3"} {
		d := negotiate.GEN(negotiate.On, local, []string{peer})
		fmt.Printf("%s %q\n", d.Action, d.Reason)
	}
	// Output:
	// proceed ""
	// proceed-expect-reject "peer-mode-mismatch"
	// refuse-locally "peer-legacy"
}

func ExampleCTX() {
	local := descriptor.Default(descriptor.Enabled, 7)
	d := negotiate.CTX(negotiate.On, local, []string{"gen-1"})
	fmt.Println(d.Action, d.Err())
	// Output: reject request of incompatible GEN: V_LEGACY_WHILE_ENABLED: peer-legacy (KS-V1-37)
}

func ExampleValidateLocal() {
	v := negotiate.ValidateLocal(descriptor.Baseline, []string{baselinePeer, "rank-without-descriptor"})
	fmt.Println(v.Err())
	// Output: peer protocol L_NOT_VALID at rank 1: local-no-descriptor (KS-SEL-1)
}

func ExampleValidatePeersMode() {
	fmt.Println(negotiate.ValidatePeersMode(descriptor.Baseline, []string{baselinePeer, "ctx-3"}))
	// Output: V_OK_LEGACY
}

func ExampleValidateOldMode() {
	fmt.Println(negotiate.ValidateOldMode(descriptor.Enabled, []string{enabledPeer}))
	// Output: V_LEGACY_WHILE_ENABLED
}
