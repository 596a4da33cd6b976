package cli

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/app"
)

// boundFlag is how the flags of `chargehand serve` are named that change a limit.
var boundFlag = regexp.MustCompile(`^(max|quota|retention)-|^(rate-limit|script-timeout|execution-log-size)$`)

func TestLimitsNameTheirSettings(t *testing.T) {
	flags := newServe(console{strings.NewReader(""), io.Discard, io.Discard}).Flags()
	named := map[string]bool{}
	for _, limit := range app.DefaultLimits() {
		if limit.Setting != "" && flags.Lookup(limit.Setting) == nil {
			t.Errorf("the limit %s names the setting %s, which chargehand serve does not have", limit.Name, limit.Setting)
		}
		named[limit.Setting] = true
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if boundFlag.MatchString(f.Name) && !named[f.Name] {
			t.Errorf("no limit names the setting %s", f.Name)
		}
	})
}
