package api

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/chargehand/chargehand"
)

const aboutBatchPage = " With status, phase or label, a page looks at 2,000 batches at most, and it counts 50,000 items that run or wait at most, or those of one batch; it may then have fewer items than limit, and a cursor."

var (
	batchStatuses = []any{"pending", "running", "completed", "failed"}
	batchPhases   = []any{"pending", "running", "completed", "failed", "cancelled"}
)

// batchFilters say which batches are listed.
var batchFilters = []*parameter{
	{
		name: "status", in: "query", many: true, example: "failed", about: "Only batches with this status. Repeat it for several.",
		schema: huma.Schema{Type: "string", Enum: batchStatuses},
		read: func(c *call, value string) (complaint string) {
			status, ok := chargehand.ParseBatchStatus(value)
			if !ok {
				return "must be one of " + listed(batchStatuses) + "."
			}
			c.args.batches.Statuses = append(c.args.batches.Statuses, status)
			return ""
		},
	},
	{
		name: "phase", in: "query", many: true, example: "cancelled", about: "Only batches in this phase. Repeat it for several.",
		schema: huma.Schema{Type: "string", Enum: batchPhases},
		read: func(c *call, value string) (complaint string) {
			if !slices.Contains(batchPhases, any(value)) {
				return "must be one of " + listed(batchPhases) + "."
			}
			c.args.batches.Phases = append(c.args.batches.Phases, value)
			return ""
		},
	},
	labelParameter("Only batches with this label, name:value. Repeat it for those that have all."),
	createdAfterParameter, createdBeforeParameter, limitParameter, cursorParameter,
}
