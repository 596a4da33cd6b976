package workspace

import (
	"errors"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxValueBytes is the size of a value that a script may return, as JSON.
const MaxValueBytes = 16 << 20

// SetValue takes the JSON text of what a script returned (T47).
func (o *Outcome) SetValue(text []byte) *machine.Fault {
	v, err := value.Parse(text, value.Limits{Depth: value.MaxDepth, Bytes: MaxValueBytes})
	var syntax *value.SyntaxError
	if errors.As(err, &syntax) {
		return runtimeFault("Script returned no value", "the value that the script returned cannot be kept: "+syntax.Detail+" (at \""+syntax.Pointer+"\")")
	}
	if err != nil {
		return runtimeFault("Script returned no value", "the value that the script returned cannot be kept: "+err.Error())
	}
	o.Value, o.HasValue = v, true
	return nil
}
