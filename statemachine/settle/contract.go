package settle

// Contract is the set of contract bits that a backend declares (KS-BACK-1), as
// READY carries them.
type Contract uint8

// The contract bits.
const (
	// Visible (bit 0): completion implies remote visibility.
	Visible Contract = 1 << iota
	// NoticeAfterData (bit 1): an attached notice comes after its data.
	NoticeAfterData
	// SuccessQuiet (bit 2): final success implies no further access to either end.
	SuccessQuiet
	// ErrorQuiet (bit 3): final error implies the same.
	ErrorQuiet
	// ReleaseDrains (bit 4): release returns after access has ended.
	ReleaseDrains
)

// Has reports whether every bit of b is declared.
func (c Contract) Has(b Contract) bool { return c&b == b }

// MayQuiesce says whether LOCAL_QUIESCED can be claimed at all (KS-QUI-2).
func (c Contract) MayQuiesce() bool { return c.Has(Visible | SuccessQuiet) }
