package doctor_test

import (
	"context"
	"fmt"
	"os"

	"github.com/kvsettle/kvsettle/nixlimpl/doctor"
)

func ExampleExamine() {
	r := doctor.Examine(context.Background(), "")
	for _, c := range r.Checks[:2] {
		fmt.Println(c.Name, c.Found != "")
	}
	fmt.Println(r.Can.SHM || !r.Can.Demo)
	// Output:
	// go true
	// cpu true
	// true
}

func ExampleReport_Table() {
	r := doctor.Report{
		Checks: []doctor.Check{
			{Name: "memfd", Status: doctor.OK, Found: "memfd_create works"},
			{Name: "gpu", Status: doctor.Missing, Found: "no NVIDIA device and no driver", Fix: "Use another machine."},
		},
		Can: doctor.Can{Demo: true, SHM: true},
	}
	if err := r.Table(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// memfd  ok       memfd_create works
	// gpu    missing  no NVIDIA device and no driver
	//                 -> Use another machine.
	//
	// can run  yes  demo and bench over shared memory
	// can run  yes  the shared-memory transport
	// can run  no   the NIXL transport
	// can run  no   GPU memory
	// can run  no   TLC, the model checker
}

func ExampleMemory() {
	total, available, ok := doctor.Memory()
	fmt.Println(!ok || available <= total)
	// Output: true
}
