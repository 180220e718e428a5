//go:build cgo && linux && nvml

package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// NVML is asked only with the build tag nvml. Its binding leaves symbols
// unresolved until it loads the library, so a binary that is linked to bind them
// all at once (Ubuntu's C compiler does) would not start; and its first compilation
// prints a page of warnings. Neither may stand between a user and the demo.
var askNVML = func() (string, error) {
	if ret := nvml.Init(); ret != nvml.SUCCESS {
		return "", errors.New(nvml.ErrorString(ret))
	}
	defer nvml.Shutdown()
	n, ret := nvml.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return "", errors.New(nvml.ErrorString(ret))
	}
	var out []string
	for i := range n {
		dev, ret := nvml.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			return "", fmt.Errorf("GPU %d: %s", i, nvml.ErrorString(ret))
		}
		mem, ret := dev.GetMemoryInfo()
		if ret != nvml.SUCCESS {
			return "", fmt.Errorf("memory of GPU %d: %s", i, nvml.ErrorString(ret))
		}
		out = append(out, fmt.Sprintf("GPU %d has %s free of %s", i, gib(mem.Free), gib(mem.Total)))
	}
	return strings.Join(out, ", "), nil
}
