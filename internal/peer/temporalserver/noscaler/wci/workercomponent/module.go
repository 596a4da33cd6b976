// Package workercomponent registers no worker controllers with the server.
package workercomponent

import "go.uber.org/fx"

// Module is empty.
var Module = fx.Options()
