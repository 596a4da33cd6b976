package app_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/testrun"
)

// A script in JavaScript always runs for real. Where its source depends on the data, it is not fetched from the network
// unless --real resources allows it.
func TestScriptsOfTestsReachNothing(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte("return 7"))
	}))
	t.Cleanup(server.Close)
	folder := map[string]string{
		"flow.yaml": "document: {dsl: '1.0.3', namespace: test, name: flow, version: '1.0.0'}\n" +
			"do: [{a: {run: {script: {language: js, source: {endpoint: '${ .source }'}}}}}]\n",
		"flow.test.yaml": "tests: [{name: a, input: {source: '" + server.URL + "'}, mocks: {a: {real: true}}, expect: {output: 7}}]\n",
	}
	for allowed, want := range map[string]testrun.Status{"": testrun.Failed, "http": testrun.Failed, "resources": testrun.Passed} {
		asked.Store(0)
		machine := &app.Test{Real: strings.Fields(allowed)}
		t.Cleanup(machine.Close)
		runner, err := machine.Runner(testrun.Config{ReadFile: func(path string) ([]byte, error) {
			if text, ok := folder[path]; ok {
				return []byte(text), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}})
		if err != nil {
			t.Fatal(err)
		}
		report, err := runner.Run(t.Context(), []string{"flow.test.yaml"})
		if err != nil || len(report.Files[0].Tests) != 1 {
			t.Fatalf("%v %+v", err, report.Files[0].Problems)
		}
		test := report.Files[0].Tests[0]
		if test.Status != want || (asked.Load() > 0) != (want == testrun.Passed) {
			t.Errorf("with --real %q: %s after %d requests: %+v", allowed, test.Status, asked.Load(), test.Failures)
		}
		if want == testrun.Failed && !strings.Contains(test.Failures[0].Note, "--real resources") {
			t.Errorf("with --real %q it says %+v", allowed, test.Failures[0])
		}
	}
}
