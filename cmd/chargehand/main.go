package main

import (
	"os"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/bench"
	"github.com/chargehand/chargehand/internal/cli"
	"github.com/chargehand/chargehand/internal/testserve"
)

func main() {
	// The binary is its own helper for confined processes, for scripts, and for the empty
	// handler that bench compares with. These roles never return.
	process.MaybeHelper(script.Worker(), testserve.Worker())
	bench.MaybeEmptyHandler()
	os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
