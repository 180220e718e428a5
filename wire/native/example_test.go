package native_test

import (
	"errors"
	"fmt"

	"github.com/kvsettle/kvsettle/wire"
	"github.com/kvsettle/kvsettle/wire/native"
)

func request() native.RequestAndBufferInfo {
	return native.RequestAndBufferInfo{
		AgentName: "gen", Address: "10.0.0.2:5000",
		Info:    native.RequestInfo{RequestID: 42, State: state()},
		Buffers: []native.MemoryDesc{{Addr: 4096, Len: 1 << 20}}, Kinds: []native.BufferKind{native.KV},
	}
}

func state() native.DataTransceiverState {
	return native.DataTransceiverState{
		Comm: &native.CommState{Kind: native.CommAgent, Agents: []native.AgentState{{Name: "gen", ConnInfo: "10.0.0.2:5000"}}},
		Cache: &native.CacheState{
			KVHeadsPerLayer: []int32{8}, SizePerHead: 128, TokensPerBlock: 32, TP: 1, PP: 1, CP: 1, DPSize: 1,
			DataType: native.BF16, KVFactor: 2, IndexerQuantBlockSize: native.DefaultQuantBlockSize,
		},
	}
}

func ExampleDecodeNotification() {
	b, err := native.AppendReady(nil, native.Ready{AgentName: "gen", Tag: native.DataTag(42), Ready: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := native.DecodeNotification(b)
	fmt.Println(n.Kind, n.Ready, err)

	_, err = native.DecodeNotification(b[:20])
	fmt.Println(err)
	_, err = native.DecodeNotification([]byte{3, 0, 0, 0, 0, 0, 0, 0})
	fmt.Println(errors.Is(err, &wire.Error{Reason: wire.ReasonControl}))
	// Output:
	// ready {gen 10795 true} <nil>
	// notification.ready.tag at byte 19: short-input: need 4, have 1 (KS-NAT-2)
	// true
}

func ExampleAppendRequest() {
	b, err := native.AppendRequest(nil, request())
	fmt.Println(len(b), err)
	n, err := native.DecodeNotification(b)
	fmt.Println(n.Request.Info.RequestID, n.Request.Buffers, n.Request.Validate(), err)
	// Output:
	// 238 <nil>
	// 42 [{4096 1048576 0}] <nil> <nil>
}

func ExampleAppendSync() {
	b, err := native.AppendSync(nil, native.Sync{AgentName: "g", Tag: 43})
	fmt.Printf("%x %v\n", b, err)
	// Output: 01000000000000000100000000000000672b000000 <nil>
}

func ExampleAppendReady() {
	b, err := native.AppendReady(nil, native.Ready{AgentName: "g", Tag: native.ReadyTag42})
	fmt.Printf("%x %v\n", b, err)
	// Output: 02000000000000000100000000000000672a00000000 <nil>
}

func ExampleDecodeState() {
	b, err := native.AppendState(nil, native.Mid2026, state())
	fmt.Println(len(b), err)
	s, err := native.DecodeState(native.Mid2026, b)
	fmt.Println(s.Comm.Agents[0].Name, s.Cache.TokensPerBlock, err)
	_, err = native.DecodeState(native.Late2025, b)
	fmt.Println(err)
	// Output:
	// 125 <nil>
	// gen 32 <nil>
	// state at byte 122: trailing-bytes: 3 bytes left (KS-NAT-2)
}

func ExampleWalkRequest() {
	r := request()
	body, err := native.AppendRequestBody(nil, &r)
	fmt.Println(len(body), err)
	fmt.Println(native.WalkRequest(body, native.Limits{Ranks: 1, Buffers: 3}))
	fmt.Println(native.WalkRequest(body, native.Limits{Text: 8}))
	// Output:
	// 230 <nil>
	// <nil>
	// request.address at byte 11: too-large: 13 above 8 (KS-NAT-4)
}

func ExampleDecodeRequestBody() {
	_, err := native.DecodeRequestBody([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	fmt.Println(err)
	// Output: request.agentName at byte 0: bad-length: 18446744073709551615 of 0 (KS-NAT-4)
}

func ExampleRequestAndBufferInfo_Validate() {
	r := request()
	r.Kinds[0] = 9
	fmt.Println(r.Validate())
	r = request()
	r.Info.State.Comm.SelfIdx = 4
	fmt.Println(r.Validate())
	// Output:
	// request.bufferKinds: out-of-range: 9 (KS-NAT-18)
	// commState.selfIdx: out-of-range: 4 of 1 (KS-NAT-13)
}

func ExampleDataTag() {
	fmt.Println(native.DataTag(42), native.DataTag(42+4096))
	// Output: 10795 10795
}

func ExampleValidateTag() {
	fmt.Println(native.ValidateTag(10795, false), native.ValidateTag(42, true))
	fmt.Println(native.ValidateTag(42, false))
	// Output:
	// <nil> <nil>
	// tag: out-of-range: 42 (KS-TAG-6)
}

func ExampleValidateAddress() {
	fmt.Println(native.ValidateAddress("10.0.0.1:5000"))
	fmt.Println(native.ValidateAddress("::1:5000"))
	// Output:
	// <nil>
	// connectionInfo: bad-value: 3 colons (KS-NAT-21)
}

func ExamplePeek() {
	fmt.Println(native.Peek([]byte{1, 0, 0, 0, 0, 0, 0, 0}))
	fmt.Println(native.Peek([]byte{1}))
	// Output:
	// sync true
	// request false
}

func ExampleDecodeContextPhase() {
	v := native.ContextPhaseParams{RequestID: 42, FirstGenTokens: []int32{17}}
	b, err := native.AppendContextPhase(nil, native.Late2025, &v)
	fmt.Println(len(b), err)
	v, err = native.DecodeContextPhase(native.Late2025, b)
	fmt.Println(v.RequestID, v.FirstGenTokens, err)
	_, err = native.DecodeContextPhase(native.Mid2026, b)
	fmt.Println(err)
	// Output:
	// 22 <nil>
	// 42 [17] <nil>
	// contextPhaseParams: profile-unsupported: 2026mid (KS-NAT-11)
}

func ExampleDecodeComm() {
	b, err := native.AppendComm(nil, &native.CommState{Kind: native.CommMPI, Ranks: []int32{4, 5}, SelfIdx: 1})
	fmt.Println(len(b), err)
	c, err := native.DecodeComm(b)
	fmt.Println(c.Ranks, c.Count(), c.Validate(), err)
	// Output:
	// 28 <nil>
	// [4 5] 2 <nil> <nil>
}

func ExampleDecodeCache() {
	b, err := native.AppendCache(nil, native.Late2025, &native.CacheState{RNN: &native.RNNState{}})
	fmt.Println(len(b), err)
	_, err = native.DecodeCache(native.Mid2026, make([]byte, 66))
	fmt.Println(err)
	// Output:
	// 0 cacheState: profile-unsupported: a field that 2025late does not carry is set (KS-NAT-1)
	// cacheState.hasRnn at byte 66: short-input: need 1, have 0 (KS-NAT-2)
}

func ExampleDecodeBlockKey() {
	k, err := native.DecodeBlockKey(make([]byte, 19))
	fmt.Println(k.UsesExtraIDs, len(k.Tokens), err)
	// Output: false 0 <nil>
}

func ExampleDecodeAgent() {
	a, err := native.DecodeAgent(native.AppendAgent(nil, native.AgentState{Name: "h_1_2_0", ConnInfo: "h:1"}))
	fmt.Println(a, err)
	// Output: {h_1_2_0 h:1} <nil>
}

func ExampleDecodeMemoryDesc() {
	m, err := native.DecodeMemoryDesc(native.AppendMemoryDesc(nil, native.MemoryDesc{Addr: 1 << 40, Len: 1 << 20, Device: 3}))
	fmt.Println(m, m.Validate(), err)
	// Output: {1099511627776 1048576 3} <nil> <nil>
}

func ExampleDecodeRequestInfo() {
	v := native.RequestInfo{RequestID: 1}
	b, err := native.AppendRequestInfo(nil, &v)
	fmt.Println(len(b), err)
	v, err = native.DecodeRequestInfo(b)
	fmt.Println(v.RequestID, v.State.Comm == nil, err)
	// Output:
	// 33 <nil>
	// 1 true <nil>
}

func ExampleDefaultLimits() {
	fmt.Println(native.DefaultLimits().Ranks, native.DefaultLimits().Buffers)
	// Output: 4096 3
}

func ExampleNotification_CheckNames() {
	n := native.Notification{Kind: native.KindSync, Sync: native.Sync{AgentName: "gen-0", Tag: 43}}
	fmt.Println(n.CheckNames("ctx-0", "gen-0"))
	fmt.Println(n.CheckNames("ctx-0", "gen-1"))
	// Output:
	// <nil>
	// sync.agentName: bad-value: "gen-0" (KS-NAT-15)
}
