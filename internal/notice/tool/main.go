package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/notice"
)

func main() {
	var out []byte
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == "notices":
		out, err = notices("./cmd/chargehand")
	case len(args) == 2 && args[0] == "text":
		var ui []byte
		if ui, err = uiNotices(args[1]); err == nil {
			out = []byte(notice.Text(ui))
		}
	case len(args) == 4 && args[0] == "sbom":
		var ui []byte
		if ui, err = uiNotices(args[3]); err == nil {
			out, err = sbom(args[1], args[2], ui)
		}
	default:
		err = errors.New("usage: tool notices | tool text UI | tool sbom BINARY VERSION UI")
	}
	if err == nil {
		_, err = os.Stdout.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

// uiNotices reads the notices of the web UI in the folder where its build has put them. A release has a web UI, so it
// is an error that there are none.
func uiNotices(folder string) ([]byte, error) {
	return os.ReadFile(filepath.Join(folder, "NOTICE.txt"))
}
