package native

// Ready is variant 2, CTX to GEN: the answer to a request before any write.
// AgentName is the addressee's name.
type Ready struct {
	AgentName string
	Tag       int32
	Ready     bool
}

// AppendReady appends v with its variant index.
func AppendReady(dst []byte, v Ready) ([]byte, error) {
	dst = appendI32(appendStr(appendU64(dst, uint64(KindReady)), v.AgentName), v.Tag)
	return appendBool(dst, v.Ready), nil
}

func readReady(r *reader, dst *Ready) {
	name, tag, ready := r.str("agentName"), r.I32LE("tag"), r.Bool("isReady")
	if dst != nil {
		*dst = Ready{string(name), tag, ready}
	}
}

// Validate refuses a tag that is no data tag; fixed admits the constant 42.
func (v Ready) Validate(fixed bool) error { return ValidateTag(v.Tag, fixed) }
