package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chargehand/chargehand/internal/machine"
)

// Fault is a fault as it is stored in store.Outcome.Fault and shown by the API: the
// language's error object with the fields that the API adds (docs/reference/api.md "Status").
type Fault struct {
	Type      string `json:"type"`
	Status    int    `json:"status"`
	Title     string `json:"title,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Instance  string `json:"instance,omitempty"`
	Code      string `json:"code"`
	Origin    string `json:"origin"` // "workflow" or "system"
	Retryable bool   `json:"retryable"`
}

// DescribeFault completes the machine's fault for people: Code is never empty.
func DescribeFault(f *machine.Fault) Fault {
	d := Fault{
		Type: f.Type, Status: f.Status, Title: f.Title, Detail: f.Detail, Instance: f.Instance,
		Code: f.Code, Origin: "workflow", Retryable: f.Retryable,
	}
	if f.System {
		d.Origin = "system"
	}
	if d.Code == "" {
		// The standard types end in their names (docs/language/errors.md); an author's own type is
		// named by its address alone.
		d.Code = "fault"
		if name, ok := strings.CutPrefix(f.Type, machine.ErrorBase); ok && name != "" {
			d.Code = name
		}
	}
	return d
}

// EncodeFault is the JSON of DescribeFault.
func EncodeFault(f *machine.Fault) []byte {
	data, err := json.Marshal(DescribeFault(f))
	if err != nil { // texts and numbers always have JSON
		panic(err)
	}
	return data
}

// DecodeFault is the inverse of EncodeFault.
func DecodeFault(data []byte) (Fault, error) {
	var f Fault
	if err := json.Unmarshal(data, &f); err != nil {
		return Fault{}, fmt.Errorf("decode fault: %w", err)
	}
	return f, nil
}
