package script_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/machine"
)

// T69: a source whose address or authentication is known only when the task runs.
func TestSourceIsReadWhenTheTaskRuns(t *testing.T) {
	var reads atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		reads.Add(1)
		w.Header().Set("Cache-Control", "max-age=600")
		if strings.HasSuffix(r.URL.Path, ".py") {
			_, _ = w.Write([]byte("import sys\nreturn 'python ' + sys.argv[1]"))
			return
		}
		_, _ = w.Write([]byte("return 'js ' + process.argv[2]"))
	}))
	defer server.Close()
	r := newRunner(t, script.Limits{})
	bearer := object{"scheme": "bearer", "token": "t0ken"}
	for name, want := range map[string]string{"a.js": "js x", "a.py": "python x"} {
		language := map[string]string{".js": "js", ".py": "python"}[filepath.Ext(name)]
		for range 2 {
			result := r.Run(t.Context(), activity.Call{Args: object{
				"language": language, "arguments": []any{"x"}, "source": object{"endpoint": server.URL + "/" + name, "authentication": bearer},
			}})
			if result.Fault != nil || result.Output != want {
				t.Errorf("%s: %v, %v, want %q", name, result.Output, result.Fault, want)
			}
		}
	}
	if n := reads.Load(); n != 2 {
		t.Errorf("two sources were read %d times: they are kept as long as the server allows", n)
	}
	refused := r.Run(t.Context(), activity.Call{Args: object{"language": "js", "source": object{"endpoint": server.URL + "/a.js"}}})
	if refused.Fault == nil || refused.Fault.Type != machine.ErrCommunication || refused.Fault.Status != 401 {
		t.Errorf("without the token: %+v, %v", refused.Fault, refused.Output)
	}
}

func TestSourceIsBelowTheRoot(t *testing.T) {
	r, root := newRunnerWithRoot(t, script.Limits{})
	for name, text := range map[string]string{"a.js": "return 42", "latin1.js": "return '\xfc'"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args object) activity.Result {
		args["language"] = "js"
		return r.Run(t.Context(), activity.Call{Args: args})
	}
	if result := run(object{"source": object{"endpoint": "a.js"}}); result.Fault != nil || result.Output != 42 {
		t.Errorf("a file below the root: %v, %v", result.Output, result.Fault)
	}
	for name, test := range map[string]struct {
		args   object
		detail string
	}{
		"outside":     {object{"source": object{"endpoint": "file:///etc/passwd"}}, "resource-root"},
		"absent":      {object{"source": object{"endpoint": "b.js"}}, "no such file"},
		"not UTF-8":   {object{"source": object{"endpoint": "latin1.js"}}, "UTF-8"},
		"no endpoint": {object{"source": object{}}, "neither code nor a source"},
		"nothing":     {object{}, "neither code nor a source"},
	} {
		result := run(test.args)
		if result.Fault == nil || result.Fault.Type != machine.ErrConfiguration || !strings.Contains(result.Fault.Detail, test.detail) {
			t.Errorf("%s: %+v, output %v; want a configuration error with %q", name, result.Fault, result.Output, test.detail)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if result := r.Run(gone, activity.Call{Args: object{"language": "js", "source": object{"endpoint": "http://127.0.0.1:1/a.js"}}}); result.Fault == nil {
		t.Errorf("cancelled: output %v", result.Output)
	}
}
