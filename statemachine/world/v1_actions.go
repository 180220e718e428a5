package world

// The actions of the v1 model.
const (
	v1CtxGrant Action = iota
	v1CtxDeny
	v1GenImport
	v1GenNothing
	v1GenGrant
	v1GenDeny
	v1RequestVisible
	v1RequestSent
	v1RequestFailed
	v1RequestDoubtful
	v1DeliverRequest
	v1RejectRequest
	v1DeliverReady
	v1DeliverReject
	v1DeliverSync
	v1Drop
	v1Duplicate
	v1WriteEnds
	v1WriteStopped
	v1WriteFails
	v1OrphanLands
	v1ScatterDone
	v1VerifyFails
	v1CancelGen
	v1CancelCtx
	v1GenAdmissionDeadline
	v1GenRequestDeadline
	v1GenControlDeadline
	v1CtxAdmissionDeadline
	v1CtxContextDeadline
	v1CtxRequestDeadline
	v1CtxControlDeadline
	v1CrashGen
	v1CrashCtx
	v1GenPeerLost
	v1GenPeerQuiet
	v1CtxPeerLost
	v1TagAges
	v1GenAbort
	v1GenExit
	v1CtxAbort
	v1CtxExit
)

const v1KindArg = "kind=request|ready|reject|sync"

var v1Actions = [...]Info{
	v1CtxGrant:             {Name: "CtxGrant", From: "CTX {ctx}", To: "router", Args: []string{"ctx", "req"}},
	v1CtxDeny:              {Name: "CtxDeny", From: "CTX {ctx}", To: "router", Args: []string{"ctx", "req"}},
	v1GenImport:            {Name: "GenImport", Fair: true, From: "router", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1GenNothing:           {Name: "GenNothing", From: "GEN {gen}", To: "router", Args: []string{"gen", "req"}},
	v1GenGrant:             {Name: "GenGrant", From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1GenDeny:              {Name: "GenDeny", From: "GEN {gen}", To: "router", Args: []string{"gen", "req"}},
	v1RequestVisible:       {Name: "RequestVisible", From: "GEN {gen}", To: "network", Args: []string{"gen", "req"}},
	v1RequestSent:          {Name: "RequestSent", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1RequestFailed:        {Name: "RequestFailed", From: "network", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1RequestDoubtful:      {Name: "RequestDoubtful", From: "network", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1DeliverRequest:       {Name: "DeliverRequest", Fair: true, From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen", "req"}},
	v1RejectRequest:        {Name: "RejectRequest", From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen", "req"}},
	v1DeliverReady:         {Name: "DeliverReady", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "req"}},
	v1DeliverReject:        {Name: "DeliverReject", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "req"}},
	v1DeliverSync:          {Name: "DeliverSync", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "req"}},
	v1Drop:                 {Name: "Drop", From: "network", To: "network", Args: []string{v1KindArg, "ctx", "gen", "req"}},
	v1Duplicate:            {Name: "Duplicate", From: "network", To: "network", Args: []string{v1KindArg, "ctx", "gen", "req"}},
	v1WriteEnds:            {Name: "WriteEnds", From: "CTX {ctx}", To: "GEN {gen}", Args: []string{"ctx", "gen", "req"}},
	v1WriteStopped:         {Name: "WriteStopped", From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "gen", "req"}},
	v1WriteFails:           {Name: "WriteFails", From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "gen", "req"}},
	v1OrphanLands:          {Name: "OrphanLands", From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "req"}},
	v1ScatterDone:          {Name: "ScatterDone", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1VerifyFails:          {Name: "VerifyFails", From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1CancelGen:            {Name: "UserCancelGen", From: "router", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1CancelCtx:            {Name: "UserCancelCtx", From: "router", To: "CTX {ctx}", Args: []string{"ctx", "req"}},
	v1GenAdmissionDeadline: {Name: "GenAdmissionDeadline", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1GenRequestDeadline:   {Name: "GenRequestDeadline", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1GenControlDeadline:   {Name: "GenControlDeadline", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen", "req"}},
	v1CtxAdmissionDeadline: {Name: "CtxAdmissionDeadline", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "req"}},
	v1CtxContextDeadline:   {Name: "CtxContextDeadline", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "req"}},
	v1CtxRequestDeadline:   {Name: "CtxRequestDeadline", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "req"}},
	v1CtxControlDeadline:   {Name: "CtxControlDeadline", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "req"}},
	v1CrashGen:             {Name: "CrashGen", From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v1CrashCtx:             {Name: "CrashCtx", From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v1GenPeerLost:          {Name: "GenPeerLost", From: "network", To: "GEN {gen}", Args: []string{"gen", "ctx"}},
	v1GenPeerQuiet:         {Name: "GenPeerQuiet", From: "network", To: "GEN {gen}", Args: []string{"gen", "ctx"}},
	v1CtxPeerLost:          {Name: "CtxPeerLost", From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen"}},
	v1TagAges:              {Name: "TagAges", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v1GenAbort:             {Name: "GenAbort", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v1GenExit:              {Name: "GenExit", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v1CtxAbort:             {Name: "CtxAbort", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v1CtxExit:              {Name: "CtxExit", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
}
