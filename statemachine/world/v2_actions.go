package world

// The actions of the v2 models.
const (
	v2CtxPublish Action = iota
	v2CtxPublishFull
	v2GenImport
	v2GenRefuse
	v2GenGrant
	v2GenDeny
	v2GenPublish
	v2OpenVisible
	v2OpenSent
	v2OpenFailed
	v2OpenDoubtful
	v2DeliverOpen
	v2DeliverOddOpen
	v2DeliverCancel
	v2DeliverQuery
	v2DeliverGenTerminal
	v2DeliverGenReceipt
	v2DeliverReady
	v2DeliverNotReady
	v2DeliverSync
	v2DeliverData
	v2DeliverStatus
	v2DeliverCtxTerminal
	v2DeliverCtxReceipt
	v2DropMessage
	v2DropNotice
	v2Duplicate
	v2Reorder
	v2StrayToCtx
	v2StrayToGen
	v2CtxPrepare
	v2CtxReject
	v2CtxRound
	v2CtxRoundMissing
	v2CtxVerdict
	v2CtxBarrier
	v2GenRound
	v2GenRoundMissing
	v2GenVerdict
	v2GenBarrier
	v2BarrierBroken
	v2Post
	v2WriteEnds
	v2WriteFails
	v2Release
	v2ReleasedEnds
	v2LooseLands
	v2Sealed
	v2Processed
	v2VerifyFails
	v2UserCancelGen
	v2UserCancelCtx
	v2DoubtGen
	v2DoubtCtx
	v2CtxContextDeadline
	v2CtxRequestDeadline
	v2CtxControlDeadline
	v2CtxRetry
	v2CtxRetire
	v2GenAdmissionDeadline
	v2GenRequestDeadline
	v2GenSoftDeadline
	v2GenControlDeadline
	v2GenRetry
	v2GenRetire
	v2CrashGen
	v2CrashCtx
	v2ExitGen
	v2ExitCtx
	v2RestartGen
	v2RestartCtx
	v2GenEpochChanged
	v2GenPeerQuiet
	v2CtxEpochChanged
)

// v2KindArg names the messages by v2Kind.
const v2KindArg = "kind=OPEN|CANCEL|QUERY|TERMINAL NOT_STARTED|TERMINAL SOURCE_COMPLETE|TERMINAL DESTINATION_COMPLETE|TERMINAL UNKNOWN|TERMINAL QUIESCED|RECEIPT NOT_STARTED|RECEIPT SOURCE_COMPLETE|RECEIPT DESTINATION_COMPLETE|RECEIPT UNKNOWN|RECEIPT QUIESCED|READY|NOT_READY NOT_STARTED|NOT_READY UNKNOWN|sync|DATA_COMPLETE 1|DATA_COMPLETE 2|STATUS NOT_STARTED|STATUS IN_PROGRESS|STATUS SOURCE_COMPLETE|STATUS UNKNOWN|STATUS QUIESCED|TERMINAL NOT_STARTED|TERMINAL SOURCE_COMPLETE|TERMINAL DESTINATION_COMPLETE|TERMINAL UNKNOWN|TERMINAL QUIESCED|RECEIPT NOT_STARTED|RECEIPT SOURCE_COMPLETE|RECEIPT DESTINATION_COMPLETE|RECEIPT UNKNOWN|RECEIPT QUIESCED"

const v2StrayArg = "other=attempt|ticket|epoch|all but the request id"

const evidenceArg = "evidence=NOT_STARTED|SOURCE_COMPLETE|DESTINATION_COMPLETE|UNKNOWN|QUIESCED"

var v2Actions = [...]Info{
	v2CtxPublish:           {Name: "CtxPublish", Fair: true, From: "CTX {ctx}", To: "router", Args: []string{"ctx"}},
	v2CtxPublishFull:       {Name: "CtxPublishFull", From: "CTX {ctx}", To: "router", Args: []string{"ctx"}},
	v2GenImport:            {Name: "GenImport", Fair: true, From: "router", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenRefuse:            {Name: "GenRefuse", From: "GEN {gen}", To: "router", Args: []string{"gen"}},
	v2GenGrant:             {Name: "GenGrant", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenDeny:              {Name: "GenDeny", From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenPublish:           {Name: "GenPublish", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2OpenVisible:          {Name: "OpenVisible", Fair: true, From: "GEN {gen}", To: "network", Args: []string{"gen", "ctx"}},
	v2OpenSent:             {Name: "OpenSent", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"gen", "ctx"}},
	v2OpenFailed:           {Name: "OpenFailed", From: "network", To: "GEN {gen}", Args: []string{"gen", "ctx"}},
	v2OpenDoubtful:         {Name: "OpenDoubtful", From: "network", To: "GEN {gen}", Args: []string{"gen", "ctx"}},
	v2DeliverOpen:          {Name: "DeliverOpen", Fair: true, From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen"}},
	v2DeliverOddOpen:       {Name: "DeliverOddOpen", From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen"}},
	v2DeliverCancel:        {Name: "DeliverCancel", Fair: true, From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen"}},
	v2DeliverQuery:         {Name: "DeliverQuery", Fair: true, From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen"}},
	v2DeliverGenTerminal:   {Name: "DeliverGenTerminal", Fair: true, From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen", evidenceArg}},
	v2DeliverGenReceipt:    {Name: "DeliverGenReceipt", Fair: true, From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen", evidenceArg}},
	v2DeliverReady:         {Name: "DeliverReady", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen"}},
	v2DeliverNotReady:      {Name: "DeliverNotReady", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "evidence=NOT_STARTED|UNKNOWN"}},
	v2DeliverSync:          {Name: "DeliverSync", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen"}},
	v2DeliverData:          {Name: "DeliverData", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "chunk"}},
	v2DeliverStatus:        {Name: "DeliverStatus", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "state=NOT_STARTED|IN_PROGRESS|SOURCE_COMPLETE|UNKNOWN|QUIESCED"}},
	v2DeliverCtxTerminal:   {Name: "DeliverCtxTerminal", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", evidenceArg}},
	v2DeliverCtxReceipt:    {Name: "DeliverCtxReceipt", Fair: true, From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", evidenceArg}},
	v2DropMessage:          {Name: "Drop", From: "network", To: "network", Args: []string{v2KindArg, "ctx", "gen"}},
	v2DropNotice:           {Name: "DropNotice", From: "network", To: "network", Args: []string{v2KindArg, "ctx", "gen"}},
	v2Duplicate:            {Name: "Duplicate", From: "network", To: "network", Args: []string{v2KindArg, "ctx", "gen"}},
	v2Reorder:              {Name: "Reorder", From: "network", To: "network", Args: []string{v2KindArg, "ctx", "gen"}},
	v2StrayToCtx:           {Name: "StrayToCtx", From: "network", To: "CTX {ctx}", Args: []string{"ctx", "gen", v2StrayArg, v2KindArg}},
	v2StrayToGen:           {Name: "StrayToGen", From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", v2StrayArg, v2KindArg}},
	v2CtxPrepare:           {Name: "CtxPrepare", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxReject:            {Name: "CtxReject", From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxRound:             {Name: "CtxRound", Fair: true, From: "CTX", To: "CTX"},
	v2CtxRoundMissing:      {Name: "CtxRoundMissing", From: "CTX", To: "CTX", Args: []string{"absent"}},
	v2CtxVerdict:           {Name: "CtxVerdict", Fair: true, From: "CTX", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxBarrier:           {Name: "CtxBarrier", Fair: true, From: "CTX", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2GenRound:             {Name: "GenRound", Fair: true, From: "GEN", To: "GEN"},
	v2GenRoundMissing:      {Name: "GenRoundMissing", From: "GEN", To: "GEN", Args: []string{"absent"}},
	v2GenVerdict:           {Name: "GenVerdict", Fair: true, From: "GEN", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenBarrier:           {Name: "GenBarrier", Fair: true, From: "GEN", To: "GEN {gen}", Args: []string{"gen"}},
	v2BarrierBroken:        {Name: "BarrierBroken", From: "CTX", To: "GEN", Args: []string{"side=CTX|GEN"}},
	v2Post:                 {Name: "Post", Fair: true, From: "CTX {ctx}", To: "GEN {gen}", Args: []string{"ctx", "gen", "chunk"}},
	v2WriteEnds:            {Name: "WriteEnds", Fair: true, From: "GEN {gen}", To: "CTX {ctx}", Args: []string{"ctx", "gen", "chunk"}},
	v2WriteFails:           {Name: "WriteFails", From: "GEN {gen}", To: "CTX {ctx}", Args: []string{"ctx", "gen", "chunk"}},
	v2Release:              {Name: "Release", From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "gen", "chunk"}},
	v2ReleasedEnds:         {Name: "ReleasedEnds", Fair: true, From: "GEN {gen}", To: "CTX {ctx}", Args: []string{"ctx", "gen", "chunk"}},
	v2LooseLands:           {Name: "LooseLands", From: "network", To: "GEN {gen}", Args: []string{"ctx", "gen", "chunk"}},
	v2Sealed:               {Name: "Sealed", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx", "gen"}},
	v2Processed:            {Name: "Processed", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2VerifyFails:          {Name: "VerifyFails", From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2UserCancelGen:        {Name: "UserCancelGen", From: "router", To: "GEN {gen}", Args: []string{"gen"}},
	v2UserCancelCtx:        {Name: "UserCancelCtx", From: "router", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2DoubtGen:             {Name: "DoubtGen", From: "network", To: "GEN {gen}", Args: []string{"gen"}},
	v2DoubtCtx:             {Name: "DoubtCtx", From: "network", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxContextDeadline:   {Name: "CtxContextDeadline", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxRequestDeadline:   {Name: "CtxRequestDeadline", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxControlDeadline:   {Name: "CtxControlDeadline", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxRetry:             {Name: "CtxRetry", Fair: true, From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2CtxRetire:            {Name: "CtxRetire", From: "CTX {ctx}", To: "CTX {ctx}", Args: []string{"ctx"}},
	v2GenAdmissionDeadline: {Name: "GenAdmissionDeadline", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenRequestDeadline:   {Name: "GenRequestDeadline", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenSoftDeadline:      {Name: "GenSoftDeadline", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenControlDeadline:   {Name: "GenControlDeadline", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenRetry:             {Name: "GenRetry", Fair: true, From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenRetire:            {Name: "GenRetire", From: "GEN {gen}", To: "GEN {gen}", Args: []string{"gen"}},
	v2CrashGen:             {Name: "CrashGen", From: "GEN", To: "GEN"},
	v2CrashCtx:             {Name: "CrashCtx", From: "CTX", To: "CTX"},
	v2ExitGen:              {Name: "ExitGen", Fair: true, From: "GEN", To: "GEN"},
	v2ExitCtx:              {Name: "ExitCtx", Fair: true, From: "CTX", To: "CTX"},
	v2RestartGen:           {Name: "RestartGen", Fair: true, From: "GEN", To: "GEN"},
	v2RestartCtx:           {Name: "RestartCtx", Fair: true, From: "CTX", To: "CTX"},
	v2GenEpochChanged:      {Name: "GenEpochChanged", From: "network", To: "GEN {gen}", Args: []string{"gen"}},
	v2GenPeerQuiet:         {Name: "GenPeerQuiet", From: "network", To: "GEN {gen}", Args: []string{"gen"}},
	v2CtxEpochChanged:      {Name: "CtxEpochChanged", From: "network", To: "CTX {ctx}", Args: []string{"ctx"}},
}
