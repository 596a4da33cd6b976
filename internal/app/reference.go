package app

import (
	"cmp"
	"slices"

	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/service"
)

// DefaultLimits are the limits of an installation with default settings, for the page that lists them.
func DefaultLimits() []service.Limit {
	c, err := Config{Connections: 10_000}.withDefaults() // the default depends on the machine
	if err != nil {
		panic(err) // the zero value is valid
	}
	return service.Limits{PoolLimits: c.limits()}.WithDefaults().List()
}

// Problems are the errors of the API, by status and code, for the page that lists them.
func Problems() []api.ProblemType {
	list := api.Problems()
	slices.SortFunc(list, func(a, b api.ProblemType) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return list
}
