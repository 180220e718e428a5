package native

import (
	"strconv"

	"github.com/kvsettle/kvsettle/wire"
)

// RNNState is the optional recurrent part of a CacheState (Mid2026).
type RNNState struct {
	DState, DConv, HiddenSize, HeadDim        int32
	ConvDimSize, NGroups, NumLayers, NumHeads int32
	// ConvSectionLayout: 0 none, 1 x|B|C, 2 Q|K|V.
	ConvSectionLayout int32
	ConvDataType      DataType
	SSMDataType       DataType
	// LayerNumPerPP holds one number of layers per pipeline rank.
	LayerNumPerPP []int32
}

func (s *RNNState) scalars() [11]*int32 {
	return [11]*int32{
		&s.DState, &s.DConv, &s.HiddenSize, &s.HeadDim, &s.ConvDimSize, &s.NGroups, &s.NumLayers, &s.NumHeads,
		&s.ConvSectionLayout, (*int32)(&s.ConvDataType), (*int32)(&s.SSMDataType),
	}
}

func appendRNN(dst []byte, s *RNNState) []byte {
	for _, v := range s.scalars() {
		dst = appendI32(dst, *v)
	}
	return appendI32s(dst, s.LayerNumPerPP)
}

var rnnFields = [11]string{
	"dState", "dConv", "hiddenSize", "headDim", "convDimSize", "nGroups", "numLayers", "numHeads",
	"convSectionLayout", "convStateDataType", "ssmStateDataType",
}

func readRNN(r *reader, dst *RNNState) {
	r.Enter("rnn")
	defer r.Leave()
	if dst == nil {
		for _, f := range rnnFields {
			r.I32LE(f)
		}
		readI32s(r, "layerNumPerPP", r.limits.Layers, false)
		return
	}
	for i, v := range dst.scalars() {
		*v = r.I32LE(rnnFields[i])
	}
	dst.LayerNumPerPP = readI32s(r, "layerNumPerPP", r.limits.Layers, true)
}

func (s *RNNState) validate(pp int32) error {
	for i, v := range s.scalars() {
		if *v < 0 {
			return refuse(wire.ReasonOutOfRange, reqSize, "cacheState.rnn."+rnnFields[i], strconv.Itoa(int(*v)))
		}
	}
	switch {
	case s.ConvSectionLayout > 2:
		return refuse(wire.ReasonOutOfRange, reqEnum, "cacheState.rnn.convSectionLayout", strconv.Itoa(int(s.ConvSectionLayout)))
	case !s.ConvDataType.known():
		return refuse(wire.ReasonOutOfRange, reqEnum, "cacheState.rnn.convStateDataType", strconv.Itoa(int(s.ConvDataType)))
	case !s.SSMDataType.known():
		return refuse(wire.ReasonOutOfRange, reqEnum, "cacheState.rnn.ssmStateDataType", strconv.Itoa(int(s.SSMDataType)))
	}
	return validateLayers("cacheState.rnn.layerNumPerPP", s.LayerNumPerPP, pp)
}
