package blackbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/value"
)

// endless are definitions that would compute, allocate or fork without end. Each ends in error
// at a limit that its error states.
var endless = map[string]struct{ rest, stated string }{
	"jump to itself":         {"do:\n- a: {set: '${ . }', then: a}\n", "100,000|100000"},
	"jump back":              {"do:\n- a: {set: {x: 1}}\n- b: {set: {x: 2}, then: a}\n", "100,000|100000"},
	"growing text":           {"do:\n- a: {set: {x: x}}\n- b: {set: {x: '${ .x + .x }'}, then: b}\n", "16|bytes"},
	"growing array":          {"do:\n- a: {set: {x: [1]}}\n- b: {set: {x: '${ .x + .x }'}, then: b}\n", "entries|16|bytes|1,000,000|100,000"},
	"growing context":        {"do:\n- a: {set: {x: '${ \"y\" * 1000000 }'}, export: {as: '$context + {($task.name + ($context | length | tostring)): .x}'}, then: a}\n", "16|bytes"},
	"growing depth":          {"do:\n- a: {set: {x: '${ . }'}, then: a}\n", "256|deep|depth"},
	"loop over much":         {"do:\n- a: {for: {in: '[range(900000)]'}, do: [{b: {set: {x: 1}}}]}\n", "100,000|100000"},
	"loops in loops":         {"do:\n- a: {for: {in: '[range(1000)]'}, do: [{b: {for: {in: '[range(1000)]'}, do: [{c: {set: {x: 1}}}]}}]}\n", "100,000|100000"},
	"retry without end":      {"do:\n- a: {try: [{b: {raise: {error: {type: 'https://example.com/x', status: 500}}}}], catch: {retry: {delay: {seconds: 0}}}}\n", "100,000|100000"},
	"catching its own limit": {"do:\n- a: {try: [{b: {set: {x: 1}, then: b}}], catch: {then: a}}\n", "100,000|100000"},
	"retrying its own limit": {"do:\n- a: {try: [{b: {set: {x: 1}, then: b}}], catch: {retry: {limit: {attempt: {count: 1000}}}}}\n", "100,000|100000"},
	"forks in a loop":        {"do:\n- a: {fork: {branches: [{p: {set: {x: 1}}}, {q: {set: {x: 1}}}]}, then: a}\n", "100,000|100000|16|bytes|256|deep"},
	"forks in forks":         {"do:\n- a: {for: {in: '[range(2000)]'}, do: [{f: {fork: {branches: [" + strings.TrimSuffix(manyBranches(100), ",") + "]}}}]}\n", "100,000|100000"},
	"range without end":      {"do:\n- a: {set: {x: '${ [range(0; infinite)] }'}}\n", "steps|entries|bytes|MiB"},
	"repeat":                 {"do:\n- a: {set: {x: '${ last(repeat(1)) }'}}\n", "steps"},
	"until":                  {"do:\n- a: {set: {x: '${ 1 | until(false; .) }'}}\n", "steps"},
	"recursion":              {"do:\n- a: {set: {x: '${ def f: f; f }'}}\n", "steps|nested|deep|levels"},
	"deep recursion":         {"do:\n- a: {set: {x: '${ def f: 1 + f; f }'}}\n", "steps|nested|deep|levels"},
	"growing recursion":      {"do:\n- a: {set: {x: '${ def f: [., .] | f; f }'}}\n", "steps|bytes|MiB|nested|deep|levels"},
	"reduce":                 {"do:\n- a: {set: {x: '${ reduce range(1000000000) as $i (0; . + $i) }'}}\n", "steps"},
	"multiplied text":        {"do:\n- a: {set: {x: '${ \"x\" * 1000000000 }'}}\n", "MiB"},
	"far index":              {"do:\n- a: {set: {x: '${ null | setpath([400000000]; 1) }'}}\n", "entries|bytes"},
	"big integer":            {"do:\n- a: {set: {x: '${ reduce range(20) as $i (9007199254740993; . * .) }'}}\n", "bits"},
	"product of arrays":      {"do:\n- a: {set: {x: '${ [[range(1000)], [range(1000)], [range(1000)]] | [combinations] }'}}\n", "steps|entries|bytes|MiB"},
	"text of text":           {"do:\n- a: {set: {x: '${ reduce range(100) as $i (\"\\\"\"; tojson) }'}}\n", "bytes|steps|MiB"},
	"condition without end":  {"do:\n- a: {if: '[repeat(1)] | length > 0', set: {x: 1}}\n", "steps|entries|bytes|MiB"},
	"collection without end": {"do:\n- a: {for: {in: '[repeat(1)]'}, do: [{b: {set: {x: 1}}}]}\n", "steps|entries|bytes|MiB"},
	"output without end":     {"output: {as: '${ [repeat(1)] }'}\ndo:\n- a: {set: {x: 1}}\n", "steps|entries|bytes|MiB"},
	"replace in a long text": {"do:\n- a: {set: {x: '${ (\"a\" * 1000000) | gsub(\"a\"; \"bbbbbbbbbbbbbbbbbbbbbbbb\") }'}}\n", "steps|bytes|MiB"},
	"script that allocates":  {"do:\n- a: {run: {script: {language: js, code: 'const a = []; for (;;) a.push(\"x\".repeat(1e6) + a.length)'}}}\n", "MiB|memory|ran longer than 30s"},
	"script that recurses":   {"do:\n- a: {run: {script: {language: js, code: 'function f(n) { return f(n + 1) + 1 }; return f(0)'}}}\n", "stack|call|memory"},
	"script that prints":     {"do:\n- a: {run: {script: {language: js, code: 'for (;;) console.log(\"x\".repeat(1e6))'}}}\n", "16 MiB"},
	"script of one array":    {"do:\n- a: {run: {script: {language: js, code: 'return new Array(1e9).fill(1).length'}}}\n", "MiB|memory|length|size|ran longer than 30s"},
	"shell that prints":      {"do:\n- a: {run: {shell: {command: 'yes'}}}\n", "16 MiB|output"},
	"shell that allocates":   {"do:\n- a: {run: {shell: {command: 'exec tail /dev/zero'}}}\n", "memory"},
	"shell that forks":       {"do:\n- a: {run: {shell: {command: 'i=0; while [ $i -lt 2000 ]; do sleep 60 & i=$((i+1)); done; wait'}}}\n", "256|processes|fork"},
	"slow script":            {"do:\n- a: {run: {script: {language: js, code: 'for (;;);'}}, timeout: {after: {seconds: 2}}}\n", "timeout|2 s|time"},
	"slow shell":             {"do:\n- a: {run: {shell: {command: 'while :; do :; done'}}, timeout: {after: {seconds: 2}}}\n", "timeout|2 s|time"},
}

// TestHostileLoops runs all of them at once, with an ordinary execution beside them again and
// again: each is stopped by a stated limit, and none hurts the others.
func TestHostileLoops(t *testing.T) {
	t.Parallel()
	s := start(t, "--allow-run", "shell")
	quick := deploy(t, s, echo)
	alone := quickAlone(t, s, quick)
	stop := make(chan struct{})
	latencies := make(chan []time.Duration)
	go func() { latencies <- beside(t, s, quick, stop) }()
	var group sync.WaitGroup
	for name, x := range endless {
		flow := deploy(t, s, x.rest)
		input := `{}`
		if name == "growing depth" {
			input = `{"x":1}`
		}
		path := begin(t, s, flow, input)
		group.Go(func() {
			t.Run(name, func(t *testing.T) {
				e := await(t, s, path, "finished", "error")
				fault := fields(e["error"])
				if e["status"] != "error" || !regexp.MustCompile("(?i)"+x.stated).MatchString(text(fault["detail"])+" "+text(fault["title"])+" "+text(fault["type"])) {
					t.Errorf("ended %v without stating the limit (%s): %.1000s", e["status"], x.stated, value.Marshal(fault))
				}
			})
		})
	}
	group.Wait()
	close(stop)
	took := <-latencies
	slices.Sort(took)
	if len(took) < 10 {
		t.Fatalf("only %d executions ran beside", len(took))
	}
	median, worst := took[len(took)/2], took[len(took)-1]
	t.Logf("%d executions beside: median %s, worst %s; %s of memory at most", len(took), median, worst, peak(t, s))
	verifySoon(t, "the median of executions beside", median, 500*time.Millisecond+20*alone)
	verifySoon(t, "the slowest execution beside", worst, 10*time.Second+50*alone)
	if bytes := peakBytes(t, s); bytes > 2<<30 {
		t.Errorf("the server took %s of memory", peak(t, s))
	}
}

// quickAlone is what a trivial execution takes in the median while the server does nothing else, on this machine as it
// is loaded now.
func quickAlone(t *testing.T, s *server, flow string) time.Duration {
	t.Helper()
	stop, done := make(chan struct{}), make(chan []time.Duration)
	go func() { done <- beside(t, s, flow, stop) }()
	eventually(t, "ten executions have finished", func() bool { return finishedBy(t, s) >= 10 })
	close(stop)
	took := <-done
	if len(took) == 0 {
		t.Fatal("no execution has finished")
	}
	slices.Sort(took)
	return took[len(took)/2]
}

var finishedLine = regexp.MustCompile(`chargehand_executions_finished_total (\d+)`)

// finishedBy is how many executions have finished on a server.
func finishedBy(t *testing.T, s *server) int {
	t.Helper()
	m := finishedLine.FindSubmatch(s.Do(t, "GET", s.URL+"/metrics", "").Body)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// beside runs trivial executions until stop and returns how long each took.
func beside(t *testing.T, s *server, flow string, stop chan struct{}) (took []time.Duration) {
	for {
		select {
		case <-stop:
			return took
		default:
		}
		began := time.Now()
		a, err := s.Try("POST", executions(flow)+"?wait=60s", `{"input":{"a":1}}`)
		if err != nil || a.Object()["status"] != "finished" {
			t.Errorf("an execution beside: %v %d %s", err, a.Status, a.Body)
			return took
		}
		took = append(took, time.Since(began))
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

func peakBytes(t *testing.T, s *server) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	m := peakLine.FindSubmatch(data)
	if m == nil {
		peer.Skip(t, "this system does not tell the memory of a process: %v", err)
	}
	kilobytes, _ := strconv.Atoi(string(m[1]))
	return kilobytes << 10
}

func peak(t *testing.T, s *server) string { return fmt.Sprintf("%d MiB", peakBytes(t, s)>>20) }

// TestHostileTimers: loops with effects, and long ones of costly expressions, are legal; they
// disturb no other execution, and a cancellation ends them.
func TestHostileTimers(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow, quick := deploy(t, s, "do:\n- a: {wait: {milliseconds: 0}, then: a}\n"), deploy(t, s, echo)
	alone := quickAlone(t, s, quick)
	costly := deploy(t, s, "do:\n- a: {for: {in: '[range(90000)]'}, do: [{b: {set: {x: '${ reduce range(500000) as $i (0; . + $i) }'}}}]}\n")
	spinner := deploy(t, s, "do:\n- a: {for: {in: '[range(90000)]'}, do: [{b: {set: {x: 1}}}]}\n- c: {wait: {milliseconds: 0}, then: a}\n")
	var paths []string
	for i := range 10 {
		paths = append(paths, begin(t, s, flow, "{}"), begin(t, s, spinner, "{}"))
		if i%4 == 0 {
			paths = append(paths, begin(t, s, costly, "{}"))
		}
	}
	stop, done := make(chan struct{}), make(chan []time.Duration)
	go func() { done <- beside(t, s, quick, stop) }()
	before := finishedBy(t, s)
	eventually(t, "30 executions have finished beside", func() bool { return finishedBy(t, s) >= before+30 })
	close(stop)
	took := <-done
	slices.Sort(took)
	verifySoon(t, "the median of executions beside loops of timers", took[len(took)/2], time.Second+20*alone)
	for _, path := range paths {
		began := time.Now()
		cancelled := s.Do(t, "POST", path+"/cancel", "")
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("a cancellation took %s", took)
		}
		e := s.Do(t, "GET", path, "").Object()
		// Costly expressions count as several steps, so their loop may have met the bound of steps.
		if fault, _ := e["error"].(map[string]any); cancelled.Status == 409 && fault["code"] == "step_limit" {
			continue
		}
		wantStatus(t, cancelled, 202)
		if e["phase"] != "cancelled" {
			t.Errorf("%v", e)
		}
	}
}

// TestHostileReceiver: calls to a server that redirects, sends or stays silent without end.
func TestHostileReceiver(t *testing.T) {
	t.Parallel()
	s := start(t, egress...)
	mux := http.NewServeMux()
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/redirect", http.StatusFound)
	})
	mux.HandleFunc("/inside", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "and so on ")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the rest never comes
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		for i := range 10_000 {
			w.Header().Add(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
		}
	})
	mux.HandleFunc("/deep", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.Repeat("[", 1_000_000))
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\"a\":\xff}")
	})
	mux.HandleFunc("/abort", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	receiver := httptest.NewUnstartedServer(mux)
	receiver.Start()
	t.Cleanup(receiver.Close)
	quick := deploy(t, s, echo)
	for path, redirect := range map[string]string{"/redirect": "true", "/inside": "true", "/stream": "false", "/headers": "false", "/deep": "false", "/broken": "false", "/abort": "false"} {
		t.Run(path[1:], func(t *testing.T) {
			flow := deploy(t, s, fmt.Sprintf("do:\n- a: {call: http, with: {method: get, endpoint: '%s%s', redirect: %s}, timeout: {after: {seconds: 1}}}\n", receiver.URL, path, redirect))
			at := begin(t, s, flow, "{}")
			began := time.Now()
			a := s.Do(t, "POST", executions(quick)+"?wait=60s", "{}")
			if a.Object()["status"] != "finished" || time.Since(began) > 30*time.Second {
				t.Errorf("an execution beside: %s after %s", a.Body, time.Since(began))
			}
			e := finish(t, s, at)
			if path == "/redirect" && e["status"] == "finished" {
				return // T39: a redirect that remains after ten hops is returned
			}
			if fault := fields(e["error"]); e["status"] != "error" || text(fault["detail"]) == "" || strings.Contains(text(fault["detail"]), "panic") {
				t.Errorf("%.1000s", value.Marshal(e))
			}
		})
	}
	if bytes := peakBytes(t, s); bytes > 1<<30 {
		t.Errorf("the server took %s of memory", peak(t, s))
	}
}

// TestHostileSchemas: the check of an input ends with every schema.
func TestHostileSchemas(t *testing.T) {
	t.Parallel()
	s := start(t)
	nested := strings.Repeat("[", 58) + strings.Repeat("]", 58)
	numbers := "[0" + strings.Repeat(",1", 400_000) + "]"
	for name, x := range map[string]struct {
		schema, value string
		status        int
	}{
		"all of itself, twice": {"{$ref: '#/$defs/a', $defs: {a: {allOf: [{items: {$ref: '#/$defs/a'}}, {items: {$ref: '#/$defs/a'}}]}}}", nested, 422},
		"any of itself, twice": {"{$ref: '#/$defs/a', $defs: {a: {anyOf: [{items: {$ref: '#/$defs/a'}, maxItems: 0}, {items: {$ref: '#/$defs/a'}}, {type: string}]}}}", nested, 0},
		"itself":               {"{$ref: '#/$defs/a', $defs: {a: {$ref: '#/$defs/a'}}}", "1", 0},
		"unique items":         {"{uniqueItems: true}", numbers, 422},
		"contains":             {"{contains: {const: x}}", numbers, 422},
		"backtracking":         {"{pattern: '^(a+)+$'}", `"` + strings.Repeat("a", 500_000) + `b"`, 422},
		"names":                {"{propertyNames: {pattern: '^(a|aa)+$'}}", `{"` + strings.Repeat("a", 500_000) + `b":1}`, 422},
		"all wrong":            {"{items: {type: string}}", numbers, 422},
	} {
		t.Run(name, func(t *testing.T) {
			a := post(t, s, "/workflows", definition(unique("schema"), "1.0.0", "input: {schema: {document: {properties: {v: {$ref: '#/$defs/v'}}, $defs: {v: "+
				strings.ReplaceAll(x.schema, "#/$defs/a", "#/$defs/v/$defs/a")+"}}}}\n"+echo))
			if a.Status == 422 { // refused at deployment
				return
			}
			wantStatus(t, a, 201)
			flow := text(a.Object()["id"])
			for path, body := range map[string]string{executions(flow): `{"input":{"v":` + x.value + `}}`, batches(flow): `{"items":[{"v":` + x.value + `}]}`} {
				began := time.Now()
				a := s.Do(t, "POST", path, body)
				if took := time.Since(began); took > 30*time.Second || x.status != 0 && a.Status != x.status || a.Status >= 500 {
					t.Errorf("%d after %s: %.300s", a.Status, took, a.Body)
				}
			}
		})
	}
}
