// Package policy decides at start-up whether a service runs in baseline or in
// enabled mode, from three inputs: a flag, the switch variable, and the cell,
// that is what this service is made of. It also says what each rollout stage
// permits.
//
// The decision holds for new admissions. A transfer ends under the version and
// mode that it was admitted with, whatever the switch says by then, and turning
// the switch off never makes a doubtful slot safe (KS-POL-16 to KS-POL-18).
package policy
