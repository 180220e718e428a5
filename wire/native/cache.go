package native

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// DataType is the element type of cached data.
type DataType int32

// The data types, with the values of upstream.
const (
	Float DataType = iota
	Half
	Int8
	Int32
	BoolType
	UInt8
	FP8
	BF16
	Int64
	Int4
	FP4
	E8M0
)

func (t DataType) known() bool { return t >= Float && t <= E8M0 }

// The attention types.
const (
	AttentionDefault uint8 = 0
	AttentionMLA     uint8 = 1
)

// DefaultQuantBlockSize is the value of IndexerQuantBlockSize where no indexer
// cache says otherwise.
const DefaultQuantBlockSize = 128

// CacheState describes the cache layout and parallelism of one rank. Two ranks
// exchange data only when their states fit together. Field order here is wire
// order. The last group exists in Mid2026 only.
type CacheState struct {
	KVHeadsPerLayer        []int32
	SizePerHead            int32
	TokensPerBlock         int32
	TP, PP, CP             int32
	AttentionDP            bool
	DPRank, DPSize         int32
	AttentionLayerNumPerPP []int32
	DataType               DataType
	AttentionType          uint8
	KVFactor               int32 // 2 for K and V, 1 for MLA
	BlockReuse             bool
	HasIndexer             bool
	IndexerDimPerHead      int32
	IndexerQuantBlockSize  int32

	PartialReuse bool
	IndexerFP4   bool
	RNN          *RNNState // nil: none
}

// AppendCache appends the encoding of c in profile p. It refuses, under
// Late2025, values of fields that this profile does not carry.
func AppendCache(dst []byte, p Profile, c *CacheState) ([]byte, error) {
	if err := p.check("cacheState"); err != nil {
		return dst, err
	}
	if p == Late2025 && (c.PartialReuse || c.IndexerFP4 || c.RNN != nil) {
		return dst, refuse(reasonProfile, reqProfile, "cacheState", "a field that 2025late does not carry is set")
	}
	dst = appendI32s(dst, c.KVHeadsPerLayer)
	for _, v := range [...]int32{c.SizePerHead, c.TokensPerBlock, c.TP, c.PP, c.CP} {
		dst = appendI32(dst, v)
	}
	dst = appendBool(dst, c.AttentionDP)
	dst = appendI32(dst, c.DPRank)
	dst = appendI32(dst, c.DPSize)
	dst = appendI32s(dst, c.AttentionLayerNumPerPP)
	dst = appendI32(dst, int32(c.DataType))
	dst = append(dst, c.AttentionType)
	dst = appendI32(dst, c.KVFactor)
	dst = appendBool(dst, c.BlockReuse)
	if p == Mid2026 {
		dst = appendBool(dst, c.PartialReuse)
	}
	dst = appendBool(dst, c.HasIndexer)
	dst = appendI32(dst, c.IndexerDimPerHead)
	dst = appendI32(dst, c.IndexerQuantBlockSize)
	if p == Mid2026 {
		dst = appendBool(dst, c.IndexerFP4)
		dst = appendBool(dst, c.RNN != nil)
		if c.RNN != nil {
			dst = appendRNN(dst, c.RNN)
		}
	}
	return dst, nil
}

// DecodeCache decodes exactly one CacheState of profile p. It owns its memory.
func DecodeCache(p Profile, b []byte) (CacheState, error) {
	if err := p.check("cacheState"); err != nil {
		return CacheState{}, err
	}
	return decode("cacheState", p, b, readCache)
}

func readCache(r *reader, dst *CacheState) {
	var c CacheState
	c.KVHeadsPerLayer = readI32s(r, "nbKvHeadsPerLayer", r.limits.Layers, dst != nil)
	c.SizePerHead = r.I32LE("sizePerHead")
	c.TokensPerBlock = r.I32LE("tokensPerBlock")
	c.TP = r.I32LE("tensorParallelism")
	c.PP = r.I32LE("pipelineParallelism")
	c.CP = r.I32LE("contextParallelism")
	c.AttentionDP = r.Bool("enableAttentionDP")
	c.DPRank = r.I32LE("dpRank")
	c.DPSize = r.I32LE("dpSize")
	c.AttentionLayerNumPerPP = readI32s(r, "attentionLayerNumPerPP", r.limits.Layers, dst != nil)
	c.DataType = DataType(r.I32LE("dataType"))
	c.AttentionType = r.U8("attentionType")
	c.KVFactor = r.I32LE("kvFactor")
	c.BlockReuse = r.Bool("enableBlockReuse")
	if r.profile == Mid2026 {
		c.PartialReuse = r.Bool("enablePartialReuse")
	}
	c.HasIndexer = r.Bool("hasIndexerKCache")
	c.IndexerDimPerHead = r.I32LE("indexerDimPerHead")
	c.IndexerQuantBlockSize = r.I32LE("indexerKCacheQuantBlockSize")
	if r.profile == Mid2026 {
		c.IndexerFP4 = r.Bool("indexerKCacheUseFp4")
		if r.Bool("hasRnn") {
			if dst == nil {
				readRNN(r, nil)
			} else {
				c.RNN = new(RNNState)
				readRNN(r, c.RNN)
			}
		}
	}
	if dst != nil {
		*dst = c
	}
}

func validateLayers(what string, v []int32, pp int32) error {
	if len(v) != 0 && len(v) != int(pp) {
		return refuse(wire.ReasonBadCount, reqSize, what, strconv.Itoa(len(v))+" for "+strconv.Itoa(int(pp))+" pipeline ranks")
	}
	for _, n := range v {
		if n < 0 {
			return refuse(wire.ReasonOutOfRange, reqSize, what, strconv.Itoa(int(n)))
		}
	}
	return nil
}

// Validate checks ranges: positive sizes and parallelism, dpRank below dpSize,
// known types, layer counts for no or for every pipeline rank, nothing negative.
func (c *CacheState) Validate() error {
	out := func(field string, v int32) error {
		return refuse(wire.ReasonOutOfRange, reqSize, "cacheState."+field, strconv.Itoa(int(v)))
	}
	enum := func(field string, v int32) error {
		return refuse(wire.ReasonOutOfRange, reqEnum, "cacheState."+field, strconv.Itoa(int(v)))
	}
	for _, n := range c.KVHeadsPerLayer {
		if n < 0 {
			return out("nbKvHeadsPerLayer", n)
		}
	}
	switch {
	case c.SizePerHead < 1:
		return out("sizePerHead", c.SizePerHead)
	case c.TokensPerBlock < 1:
		return out("tokensPerBlock", c.TokensPerBlock)
	case c.TP < 1:
		return out("tensorParallelism", c.TP)
	case c.PP < 1:
		return out("pipelineParallelism", c.PP)
	case c.CP < 1:
		return out("contextParallelism", c.CP)
	case c.DPSize < 1:
		return out("dpSize", c.DPSize)
	case c.DPRank < 0 || c.DPRank >= c.DPSize:
		return out("dpRank", c.DPRank)
	case !c.DataType.known():
		return enum("dataType", int32(c.DataType))
	case c.AttentionType > AttentionMLA:
		return enum("attentionType", int32(c.AttentionType))
	case c.KVFactor != 1 && c.KVFactor != 2:
		return out("kvFactor", c.KVFactor)
	case c.IndexerDimPerHead < 0:
		return out("indexerDimPerHead", c.IndexerDimPerHead)
	case c.IndexerQuantBlockSize < 0:
		return out("indexerKCacheQuantBlockSize", c.IndexerQuantBlockSize)
	}
	if err := validateLayers("cacheState.attentionLayerNumPerPP", c.AttentionLayerNumPerPP, c.PP); err != nil {
		return err
	}
	if c.RNN != nil {
		return c.RNN.validate(c.PP)
	}
	return nil
}
