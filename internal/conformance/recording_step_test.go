package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/value"
)

// recordingDefinitions are the steps about recordings.
var recordingDefinitions = []definition{
	on(`the execution should have received:`, func(s *scenario, a []string) error { return s.recorded(a[0]) }),
}

// recorded compares the recording of the execution with lines of the pointer of a task, the kind of what came, and its
// output or the status of its error.
func (s *scenario) recorded(text string) error {
	var want, got []string
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		return err
	}
	a, err := s.host.Try(http.MethodGet, s.path()+"/recording", "")
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return fmt.Errorf("the recording is %d %s", a.Status, a.Body)
	}
	outcomes, _ := a.Object()["outcomes"].([]any)
	for _, v := range outcomes {
		o, _ := v.(map[string]any)
		line := fmt.Sprint(o["reference"], " ", o["kind"])
		asked, _ := o["asked_ms"].(int)
		if at, _ := o["at_ms"].(int); at < asked || asked < 0 {
			return fmt.Errorf("%s was asked for after %d ms and came after %d ms", line, asked, at)
		}
		if fault, _ := o["error"].(map[string]any); fault != nil {
			line += fmt.Sprint(" ", fault["status"])
		} else if output, has := o["output"]; has {
			line += " " + string(value.Marshal(output))
		}
		got = append(got, line)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the execution received\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return nil
}
