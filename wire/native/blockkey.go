package native

import (
	"encoding/binary"

	"github.com/kvsettle/kvsettle/wire"
)

// UniqueToken is one token of a block with its extra id.
type UniqueToken struct {
	ID    int32
	Extra uint64
}

// MmKey identifies multimodal content that took part in a block.
type MmKey struct {
	Hash        [32]byte
	StartOffset int32
	HasUUID     bool
	UUID        string
}

// BlockKey identifies a cache block by content. The zero value is the empty key
// that a request without selective transfer carries.
type BlockKey struct {
	UsesExtraIDs bool
	HasLora      bool
	LoraTaskID   uint64
	Tokens       []UniqueToken
	ExtraKeys    []MmKey
	HasSalt      bool
	CacheSaltID  uint64
}

const (
	sizeToken = 12
	minMmKey  = 37
)

// AppendMmKey appends the encoding of k. It refuses a UUID that HasUUID hides.
func AppendMmKey(dst []byte, k *MmKey) ([]byte, error) {
	if !k.HasUUID && k.UUID != "" {
		return dst, refuse(wire.ReasonBadValue, reqEncode, "mmKey.uuid", "set without its flag")
	}
	dst = append(dst, k.Hash[:]...)
	dst = appendI32(dst, k.StartOffset)
	dst = appendBool(dst, k.HasUUID)
	if k.HasUUID {
		dst = appendStr(dst, k.UUID)
	}
	return dst, nil
}

func readMmKey(r *reader, dst *MmKey) {
	hash := r.Take("hash", 32)
	offset := r.I32LE("startOffset")
	has := r.Bool("hasUuid")
	var uuid []byte
	if has {
		uuid = r.str("uuid")
	}
	if dst != nil {
		copy(dst.Hash[:], hash)
		dst.StartOffset, dst.HasUUID, dst.UUID = offset, has, string(uuid)
	}
}

// AppendBlockKey appends the encoding of k. It refuses optional values that
// their flags hide.
func AppendBlockKey(dst []byte, k *BlockKey) ([]byte, error) {
	if !k.HasLora && k.LoraTaskID != 0 {
		return dst, refuse(wire.ReasonBadValue, reqEncode, "blockKey.loraTaskId", "set without its flag")
	}
	if !k.HasSalt && k.CacheSaltID != 0 {
		return dst, refuse(wire.ReasonBadValue, reqEncode, "blockKey.cacheSaltID", "set without its flag")
	}
	start, err := len(dst), error(nil)
	dst = appendBool(dst, k.UsesExtraIDs)
	dst = appendOptU64(dst, k.HasLora, k.LoraTaskID)
	dst = appendU64(dst, uint64(len(k.Tokens)))
	for _, t := range k.Tokens {
		dst = appendU64(appendI32(dst, t.ID), t.Extra)
	}
	dst = appendU64(dst, uint64(len(k.ExtraKeys)))
	for i := range k.ExtraKeys {
		if dst, err = AppendMmKey(dst, &k.ExtraKeys[i]); err != nil {
			return dst[:start], err
		}
	}
	return appendOptU64(dst, k.HasSalt, k.CacheSaltID), nil
}

func appendOptU64(dst []byte, has bool, v uint64) []byte {
	dst = appendBool(dst, has)
	if has {
		dst = appendU64(dst, v)
	}
	return dst
}

// DecodeBlockKey decodes exactly one BlockKey. It owns its memory.
func DecodeBlockKey(b []byte) (BlockKey, error) {
	return decode("blockKey", Mid2026, b, readBlockKey)
}

func readBlockKey(r *reader, dst *BlockKey) {
	var k BlockKey
	k.UsesExtraIDs = r.Bool("usesExtraIds")
	if k.HasLora = r.Bool("hasLoraTaskId"); k.HasLora {
		k.LoraTaskID = r.U64LE("loraTaskId")
	}
	n := r.list("uniqueTokens", sizeToken, r.limits.Tokens)
	raw := r.Take("uniqueTokens", n*sizeToken)
	if dst != nil && n > 0 {
		k.Tokens = make([]UniqueToken, n)
		for i := range k.Tokens {
			b := raw[i*sizeToken:]
			k.Tokens[i] = UniqueToken{int32(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint64(b[4:])}
		}
	}
	n = r.list("extraKeys", minMmKey, r.limits.ExtraKeys)
	if dst != nil && n > 0 {
		k.ExtraKeys = make([]MmKey, n)
	}
	r.Enter("extraKeys")
	for i := 0; i < n && r.OK(); i++ {
		if dst == nil {
			readMmKey(r, nil)
		} else {
			readMmKey(r, &k.ExtraKeys[i])
		}
	}
	r.Leave()
	if k.HasSalt = r.Bool("hasCacheSaltID"); k.HasSalt {
		k.CacheSaltID = r.U64LE("cacheSaltID")
	}
	if dst != nil {
		*dst = k
	}
}
