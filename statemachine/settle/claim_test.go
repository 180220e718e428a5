package settle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kvsettle/kvsettle/spec"
	"github.com/kvsettle/kvsettle/statemachine/settle"
	"github.com/kvsettle/kvsettle/wire/control"
)

// sourceRow is a second, slow reading of the table's source side.
func sourceRow(s settle.Source) string {
	p := s.Posts
	final := int(p.Done)
	if s.ErrorQuiet {
		final += int(p.Failed)
	}
	switch {
	case p.Chunks > 0 && p.Done >= p.Chunks:
		return "claim-source-complete"
	case !s.Committed:
		return "claim-source-not-started"
	case s.Sealed && s.Quiescence && (p.Made == 0 || final >= int(p.Made)):
		return "claim-source-quiesced"
	case s.Deadline:
		return "claim-source-unknown"
	}
	return "claim-source-none"
}

func destinationRow(d settle.Destination) string {
	switch {
	case d.Completed:
		return "claim-destination-complete"
	case d.Busy:
		return "claim-destination-none"
	case d.Source == control.NotStarted:
		return "claim-destination-not-started"
	}
	return "claim-destination-quiesced"
}

func TestClaimsAreTheTable(t *testing.T) {
	spec.Covers(t, "KS-QUI-2", "KS-QUI-4", "KS-QUI-5", "KS-QUI-6")
	tab := table(t, "quiescence-claims")
	seen := map[string]bool{}
	bits := []bool{false, true}
	see := func(c settle.Claim, row string) {
		r, ok := tab.Row(row)
		require.True(t, ok, row)
		require.Equal(t, row, c.String())
		want := tab.Cell(r, "claim")
		if want == spec.None {
			require.Equal(t, settle.Missing, c.Evidence())
		} else {
			require.Equal(t, want, c.Evidence().String())
		}
		require.True(t, strings.HasPrefix(row, "claim-"+tab.Cell(r, "side")))
		seen[row] = true
	}
	for _, committed := range bits {
		for _, sealed := range bits {
			for _, quiescence := range bits {
				for _, quiet := range bits {
					for _, deadline := range bits {
						for made := range uint16(3) {
							for done := range made + 1 {
								for failed := range made - done + 1 {
									for released := range made - done - failed + 1 {
										s := settle.Source{Posts: settle.Posts{Chunks: 2, Made: made, Done: done, Failed: failed, Released: released},
											Committed: committed, Sealed: sealed, Quiescence: quiescence, ErrorQuiet: quiet, Deadline: deadline}
										see(s.Claim(), sourceRow(s))
									}
								}
							}
						}
					}
				}
			}
		}
	}
	for _, completed := range bits {
		for _, busy := range bits {
			for e := range 256 {
				d := settle.Destination{Completed: completed, Busy: busy, Source: control.Evidence(e)}
				see(d.Claim(), destinationRow(d))
			}
		}
	}
	for _, r := range tab.Rows {
		require.True(t, seen[r.ID], "row %s never applied", r.ID)
	}
	require.Equal(t, "invalid", settle.Claim(99).String())
	require.Equal(t, settle.Missing, settle.Claim(99).Evidence())
}

func TestSourceClaimNeverAhead(t *testing.T) {
	spec.Covers(t, "KS-QUI-4", "KS-SET-3")
	rapid.Check(t, func(t *rapid.T) {
		p := settle.Posts{Chunks: uint16(rapid.IntRange(1, 4).Draw(t, "chunks")), Made: uint16(rapid.IntRange(0, 6).Draw(t, "made"))}
		p.Done = uint16(rapid.IntRange(0, int(min(p.Made, p.Chunks))).Draw(t, "done"))
		p.Failed = uint16(rapid.IntRange(0, int(p.Made-p.Done)).Draw(t, "failed"))
		p.Released = uint16(rapid.IntRange(0, int(p.Made-p.Done-p.Failed)).Draw(t, "released"))
		s := settle.Source{Posts: p, Committed: true, Sealed: rapid.Bool().Draw(t, "sealed"), Quiescence: rapid.Bool().Draw(t, "q"), ErrorQuiet: rapid.Bool().Draw(t, "e")}
		switch s.Claim() {
		case settle.SourceComplete:
			require.GreaterOrEqual(t, p.Done, p.Chunks)
		case settle.SourceQuiesced:
			open := p.Made - p.Done
			if s.ErrorQuiet {
				open -= p.Failed
			}
			require.Zero(t, open, "a post that may still write")
		}
	})
}

func TestProves(t *testing.T) {
	spec.Covers(t, "KS-QUI-13", "KS-SLOT-19")
	for e := range 256 {
		v := control.Evidence(e)
		require.Equal(t, v == control.NotStarted, settle.Proves(v, false))
		require.Equal(t, v == control.NotStarted || v == control.SourceComplete || v == control.Quiesced, settle.Proves(v, true))
	}
}
