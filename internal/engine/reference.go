package engine

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// References is machine.References: the ids of all file references in v, each once.
func References(v value.Value) []chargehand.FileID { return machine.References(v) }
