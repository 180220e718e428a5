package spec

import "sync"

// Reason is a stable reason code: lower-case words joined by hyphens. A code
// never changes its meaning and is never reused (KS-RSN-1). Programs compare
// codes; people read the error text.
type Reason string

// String returns the code itself.
func (r Reason) String() string { return string(r) }

// ReasonInfo is one row of the list of reason codes.
type ReasonInfo struct {
	Code Reason
	// Area is the room or concept that gives the code.
	Area string
	// Meaning says in a few words what happened.
	Meaning string
}

type reasonList struct {
	list   []ReasonInfo
	byCode map[Reason]ReasonInfo
}

var loadReasons = sync.OnceValue(func() reasonList {
	l := reasonList{byCode: make(map[Reason]ReasonInfo)}
	t, err := LoadTable("reasons")
	if err != nil {
		return l
	}
	for _, r := range t.Rows {
		i := ReasonInfo{Reason(t.Cell(r, "code")), t.Cell(r, "area"), t.Cell(r, "meaning")}
		l.list = append(l.list, i)
		l.byCode[i.Code] = i
	}
	return l
})

// Reasons returns every reason code, in the order of the table (KS-RSN-2). The
// slice is the caller's own.
func Reasons() []ReasonInfo { return append([]ReasonInfo(nil), loadReasons().list...) }

// Known returns the row of a code.
func Known(r Reason) (ReasonInfo, bool) {
	i, ok := loadReasons().byCode[r]
	return i, ok
}
