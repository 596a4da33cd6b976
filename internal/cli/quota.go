package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/app"
)

// quotaFlags bound what is stored.
func quotaFlags(f *pflag.FlagSet, cfg *app.Config) {
	q := &cfg.Quotas
	quotaVar(f, &q.StorageBytes, "size", "quota-storage", "100GiB", "files, inputs, outputs and human tasks of an environment, such as 500GiB; 0 = no limit, as for all quotas")
	quotaVar(f, &q.KeyStorageBytes, "size", "quota-key-storage", "0", "files, inputs, outputs and human tasks that come from one key or person")
	quotaVar(f, &q.Executions, "N", "quota-executions", "100000000", "executions that are kept in an environment")
	quotaVar(f, &q.Queued, "N", "quota-queued", "10000", "queued executions of a workflow in one environment; items of batches do not count")
	quotaVar(f, &q.Events, "N", "quota-events", "10000000", "events that are kept in an environment")
	quotaVar(f, &q.EventsPerSecond, "N", "quota-events-per-second", "1000", "events that one key or person publishes in a second")
	quotaVar(f, &q.Users, "N", "quota-users", "100000", "users of an account")
}

// quota is a flag for a number, or a size in bytes. 0 stands for no limit, which is -1 in the configuration.
type quota struct {
	value *int64
	kind  string // N or size
	text  string
}

func quotaVar(f *pflag.FlagSet, value *int64, kind, name, preset, usage string) {
	q := &quota{value: value, kind: kind}
	if err := q.Set(preset); err != nil {
		panic(err)
	}
	f.Var(q, name, usage)
}

func (q *quota) String() string { return q.text }
func (q *quota) Type() string   { return q.kind }

// sizeUnits are what a size may end in.
var sizeUnits = map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}

func (q *quota) Set(text string) error {
	number, unit := text, int64(1)
	if q.kind == "size" {
		for suffix, bytes := range sizeUnits {
			if head, found := strings.CutSuffix(text, suffix); found {
				number, unit = head, bytes
			}
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		if q.kind == "size" {
			return fmt.Errorf("%q is not a size such as 100GiB, 512MiB or a number of bytes", text)
		}
		return fmt.Errorf("%q is not a whole number of 0 or more", text)
	}
	if q.text, *q.value = text, n*unit; n == 0 {
		*q.value = -1
	}
	return nil
}
