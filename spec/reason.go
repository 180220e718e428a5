package spec

// Reason is a stable reason code: lower-case words joined by hyphens. A code
// never changes its meaning and is never reused (KS-RSN-1). Programs compare
// codes; people read the error text.
type Reason string

// String returns the code itself.
func (r Reason) String() string { return string(r) }
