package main

import (
	"fmt"
	"os"
)

func main() {
	var out []byte
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == "notices":
		out, err = notices("./cmd/chargehand")
	case len(args) == 3 && args[0] == "sbom":
		out, err = sbom(args[1], args[2])
	default:
		err = fmt.Errorf("usage: tool notices | tool sbom BINARY VERSION")
	}
	if err == nil {
		_, err = os.Stdout.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}
