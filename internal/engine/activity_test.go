package engine

import (
	"testing"

	"github.com/chargehand/chargehand/internal/machine"
)

func TestClassOf(t *testing.T) {
	stdio := map[string]any{"method": "tools/list", "stdio": map[string]any{"command": "x"}}
	http := map[string]any{"method": "tools/list", "http": map[string]any{"endpoint": "https://example.org"}}
	for _, one := range []struct {
		command machine.Command
		want    Class
	}{
		{machine.Command{Activity: "shell"}, Process},
		{machine.Command{Activity: "script", Args: map[string]any{"language": "python"}}, Process},
		{machine.Command{Activity: "script", Args: map[string]any{"language": "js"}}, Script},
		{machine.Command{Activity: "script", Args: map[string]any{"language": "javascript"}, Detached: true}, Script},
		{machine.Command{Activity: "container", Detached: true}, Process},
		{machine.Command{Activity: "mcp", Args: stdio}, Process},
		{machine.Command{Activity: "mcp", Args: http}, OutgoingCall},
		{machine.Command{Activity: "mcp"}, OutgoingCall},
		{machine.Command{Activity: "http", Args: stdio}, OutgoingCall},
		{machine.Command{Activity: "asyncapi"}, OutgoingCall},
		{machine.Command{Activity: "asyncapi", Stream: true}, Stream},
	} {
		if got := ClassOf(&one.command); got != one.want {
			t.Errorf("%+v: class %d, want %d", one.command, got, one.want)
		}
	}
}
