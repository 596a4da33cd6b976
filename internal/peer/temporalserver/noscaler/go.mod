// Stands in for the module by which a Temporal server starts workers in clouds, which brings
// the clients of Kubernetes and of three clouds along: a quarter of the time it takes to
// build the server, for something that no test uses.
module go.temporal.io/auto-scaled-workers

go 1.26.0

require (
	go.temporal.io/api v1.62.8
	go.temporal.io/server v1.31.2
	go.uber.org/fx v1.24.0
)
