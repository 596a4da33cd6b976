package container

import (
	"strings"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
)

func configuration(detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrConfiguration, Status: 400, Title: "Container cannot be run", Detail: detail}
}

func runtimeFault(title, detail string) *machine.Fault {
	return &machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: title, Detail: detail}
}

// engineFault is for what the engine could not do although it was asked rightly.
func engineFault(doing string, err error) *machine.Fault {
	f := runtimeFault("Container could not be run", doing+": "+excerpt.Clip(strings.TrimSpace(err.Error()), clipBytes))
	f.System, f.Retryable = true, true
	return f
}

func stopped() *machine.Fault {
	return runtimeFault("Container was stopped", "the container was stopped before it ended")
}

const clipBytes = 1 << 10
