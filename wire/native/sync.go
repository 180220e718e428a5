package native

// Sync is variant 1, CTX to GEN: one write has ended. AgentName is the
// addressee's name, Tag the data tag.
type Sync struct {
	AgentName string
	Tag       int32
}

// AppendSync appends v with its variant index.
func AppendSync(dst []byte, v Sync) ([]byte, error) {
	return appendI32(appendStr(appendU64(dst, uint64(KindSync)), v.AgentName), v.Tag), nil
}

func readSync(r *reader, dst *Sync) {
	name, tag := r.str("agentName"), r.I32LE("tag")
	if dst != nil {
		*dst = Sync{string(name), tag}
	}
}

// Validate refuses a tag that is no data tag.
func (v Sync) Validate() error { return ValidateTag(v.Tag, false) }
