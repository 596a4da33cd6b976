package script_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/value"
)

func TestMain(m *testing.M) {
	process.MaybeHelper(script.Worker())
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2]))
	}
	os.Exit(m.Run())
}

// noFiles is a store without files.
type noFiles struct{}

func (noFiles) Open(context.Context, chargehand.AccountID, chargehand.Environment, chargehand.ExecutionID, string) (machine.File, io.ReadCloser, error) {
	return machine.File{}, nil, activity.ErrFileNotFound
}

func (noFiles) Put(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, name, mediaType string, content io.Reader) (machine.File, error) {
	size, err := io.Copy(io.Discard, content)
	return machine.File{ID: "1", Name: name, MediaType: mediaType, Size: size}, err
}

func newRunner(t testing.TB, limits script.Limits) *script.Runner {
	t.Helper()
	r, _ := newRunnerWithRoot(t, limits)
	return r
}

// newRunnerWithRoot returns the folder, too, below which sources may be files.
func newRunnerWithRoot(t testing.TB, limits script.Limits) (_ *script.Runner, root string) {
	t.Helper()
	confiner, err := process.New(process.Config{Logger: slog.New(slog.DiscardHandler), Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	root = t.TempDir()
	resources := resource.NewCache(resource.CacheConfig{
		Fetcher: resource.New(resource.Config{Transport: http.DefaultTransport, Root: root}),
	})
	r := script.New(script.Config{Confiner: confiner, Files: noFiles{}, Resources: resources, Python: true, Limits: limits})
	t.Cleanup(r.Close)
	return r, root
}

type object = map[string]any

// run runs a script with the arguments of args and the code given.
func run(t testing.TB, r *script.Runner, language, code string, args object) activity.Result {
	t.Helper()
	all := object{"language": language, "code": code, "return": "all"}
	for name, value := range args {
		all[name] = value
	}
	return r.Run(t.Context(), activity.Call{Kind: "script", Args: all})
}

// parts is the output of return: all.
func parts(t testing.TB, result activity.Result) (code int, stdout value.Value, stderr string) {
	t.Helper()
	if result.Fault != nil {
		t.Fatalf("fault: %v", result.Fault)
	}
	output := result.Output.(object)
	return output["code"].(int), output["stdout"], output["stderr"].(string)
}
