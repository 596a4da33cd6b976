// Command seed fills an installation whose server does not run with a history of executions:
//
//	go run ./scripts/seed --data-dir DIR --executions 1000000
//
// With --database-url, it fills the installation of that PostgreSQL database. What it writes, package seed says.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/chargehand/chargehand/internal/seed"
)

func main() {
	dataDir := flag.String("data-dir", "chargehand-data", "data directory of the server")
	database := flag.String("database-url", "", "PostgreSQL database of the installation, if it has one")
	o := seed.Options{}
	flag.IntVar(&o.Executions, "executions", 1_000_000, "executions to make")
	flag.Uint64Var(&o.Seed, "seed", 1, "another number makes another history")
	flag.DurationVar(&o.Span, "span", 0, "how long the history lasts; default 672h")
	flag.BoolVar(&o.Waiting, "waiting", false, "make executions that wait for a time, and no others")
	flag.Parse()
	if err := fill(context.Background(), *dataDir, *database, o); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func fill(ctx context.Context, dataDir, database string, o seed.Options) error {
	st, err := seed.Open(ctx, dataDir, database)
	if err != nil {
		return err
	}
	begin, shown := time.Now(), 0
	o.Progress = func(done int) {
		if done/50_000 > shown {
			shown = done / 50_000
			fmt.Fprintf(os.Stderr, "%d executions in %v\n", done, time.Since(begin).Round(time.Second))
		}
	}
	if err := seed.Fill(ctx, st, o); err != nil {
		st.Close()
		return err
	}
	fmt.Fprintf(os.Stderr, "%d executions in %v, counted by the hour\n", o.Executions, time.Since(begin).Round(time.Second))
	return st.Close()
}
