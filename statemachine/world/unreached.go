package world

// Unreached lists the rows of the transition tables that no model takes, each with
// the reason. They stay in the tables for implementations that are built otherwise,
// or for peers that break a rule; the tests of the machines play them.
func Unreached() map[string]string {
	const (
		barrier = "the installation barrier is a part of the round here: no decision comes between install and barrier"
		noPeer  = "CTX of this tree answers with TERMINAL and sends no CANCEL; the row is for a CTX that does"
		liar    = "a peer that keeps KS-V1-7 and KS-V1-42 says one thing only"
	)
	return map[string]string{
		"ctx-edge-decided-cancel":         barrier,
		"ctx-edge-decided-drain-x49":      barrier,
		"gen-answer":                      noPeer,
		"gen-late-cancel":                 noPeer,
		"gen-reduce-completed":            "after success only a CANCEL leads to reduction; " + noPeer,
		"gen-edge-cancel-not-started-x49": "a source that has said READY claims NOT_STARTED no more (KS-SET-2)",
		"gen-cancel-unproven":             "a source commits all edges of an attempt or none (KS-RND-10), so edges of a sibling are QUIESCED only where this rank's are proven too",
		"round-conflict":                  "the ranks of a model have one configuration; only a broken rank differs",
		"round-two-attempts":              "rank 0 alone proposes (KS-RND-5)",
		"v1-ctx-collect":                  "three GEN ranks are needed",
		"v1-ctx-early":                    "GEN asks after the result was published, and no message is older than its request",
		"v1-ctx-start":                    "taken before the initial states",
		"v1-gen-conflict":                 liar,
		"v1-gen-scatter-conflict":         liar,
		"v1-gen-scatter-unproven":         liar,
		"v1-gen-unexpected-ready":         liar,
		"v1-gen-unexpected-ready-proven":  liar,
	}
}
