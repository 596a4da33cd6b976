package engine

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
)

// References is machine.References: the ids of all file references in v, each once.
func References(v expr.Value) []chargehand.FileID { return machine.References(v) }
