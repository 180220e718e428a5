package kv

// Requirement ids that this package cites.
const (
	// ReqGeometry: a geometry is known by its slug and its sizes lie within bounds.
	ReqGeometry = "KS-KV-1"
	// ReqScale: a scaled geometry has at least the exact share of bytes per token.
	ReqScale = "KS-KV-2"
	// ReqBlocks: a block has one owner, and is free again only when nobody pins it.
	ReqBlocks = "KS-KV-3"
	// ReqReserve: a request gets all its blocks or none, and no pinned block is evicted.
	ReqReserve = "KS-KV-4"
	// ReqContent: the bytes of a block follow from hash id, layer, K or V and position.
	ReqContent = "KS-KV-5"
	// ReqLayout: the order of bytes inside a staging slot (layout slot-v1).
	ReqLayout = "KS-STG-1"
	// ReqStamp: a free slot is stamped and checked over its whole length.
	ReqStamp = "KS-SLOT-10"
)
