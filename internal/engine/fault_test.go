package engine

import (
	"testing"

	"github.com/chargehand/chargehand/internal/machine"
)

func TestFault(t *testing.T) {
	tests := map[string]struct {
		fault machine.Fault
		want  string
	}{
		"standard type": {
			machine.Fault{Type: machine.ErrTimeout, Status: 408, Title: "Timeout", Instance: "/do/0/a", Retryable: true},
			`{"type":"` + machine.ErrTimeout + `","status":408,"title":"Timeout","instance":"/do/0/a","code":"timeout","origin":"workflow","retryable":true}`,
		},
		"author's own type": {
			machine.Fault{Type: "https://example.com/no", Status: 400},
			`{"type":"https://example.com/no","status":400,"code":"fault","origin":"workflow","retryable":false}`,
		},
		"code and system": {
			machine.Fault{Type: machine.ErrRuntime, Status: 500, Detail: `a "quote"`, Code: "replay_mismatch", System: true},
			`{"type":"` + machine.ErrRuntime + `","status":500,"detail":"a \"quote\"","code":"replay_mismatch","origin":"system","retryable":false}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			data := EncodeFault(&test.fault)
			if string(data) != test.want {
				t.Errorf("got  %s\nwant %s", data, test.want)
			}
			got, err := DecodeFault(data)
			if err != nil || got != DescribeFault(&test.fault) {
				t.Errorf("decoded as %+v, %v", got, err)
			}
		})
	}
	if _, err := DecodeFault([]byte("{")); err == nil {
		t.Error("half a fault was read")
	}
}
