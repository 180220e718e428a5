//go:build !(cgo && linux && nvml)

package doctor

// askNVML is not built in; see nvml_on.go.
var askNVML func() (string, error)
