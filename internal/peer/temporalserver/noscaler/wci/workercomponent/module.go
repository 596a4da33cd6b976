package workercomponent

import "go.uber.org/fx"

// Module is empty.
var Module = fx.Options()
