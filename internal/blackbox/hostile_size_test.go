package blackbox_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"

	"github.com/chargehand/chargehand/internal/dsl/dsltest"
	"github.com/chargehand/chargehand/internal/servertest"
)

// TestHostileExpressions holds each expression that T76 names to its bounds, one after another on
// a server of its own: an error of the expression within 2 s, and no more than 256 MB of memory
// on top of what the server had before.
func TestHostileExpressions(t *testing.T) {
	servertest.Only(t, servertest.SQLite) // expressions are evaluated in the same way everywhere
	for name, source := range map[string]string{
		"a million millions":  "[range(1e12)]",
		"repeat":              "last(repeat(.))", // repeat(.) itself has its first result, which counts, at once
		"repeat in a list":    "[repeat(.)]",
		"far index":           "null|setpath([400000000];1)",
		"squaring":            "reduce range(20) as $i (9007199254740993; . * .)",
		"100 MB at once":      "\"x\" * 100000000",
		"100 MB by doubling":  "reduce range(27) as $i (\"x\"; . + .)",
		"100 MB in one array": "[range(100) | \"x\" * 1000000 + tostring]",
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			flow := deploy(t, s, "do:\n- a: {set: {x: '${ "+source+" }'}}\n")
			if e := finish(t, s, begin(t, s, deploy(t, s, echo), "{}")); e["status"] != "finished" {
				t.Fatalf("an ordinary execution: %v", e)
			}
			before, busy := peakBytes(t, s), processorTime(t, s)
			e := finish(t, s, begin(t, s, flow, "{}"))
			took, grown := processorTime(t, s)-busy, peakBytes(t, s)-before
			fault := fields(e["error"])
			if e["status"] != "error" || !strings.HasSuffix(text(fault["type"]), "/errors/expression") {
				t.Errorf("ended %v: %v", e["status"], fault)
			}
			t.Logf("%s of the processor, %d MiB: %s", took, grown>>20, text(fault["detail"]))
			if took > 10*time.Second || grown > 256_000_000 {
				t.Errorf("took %s of the processor and %d MB of memory", took, grown/1_000_000)
			}
		})
	}
}

// processorTime is what the server has taken of the processors, which tells more than the clock
// does on a busy machine.
func processorTime(t *testing.T, s *server) time.Duration {
	t.Helper()
	own, _ := processorTimes(t, s)
	return own
}

// processorTimes has also what those processes have taken that the server has started and that have ended.
func processorTimes(t *testing.T, s *server) (own, children time.Duration) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
	_, rest, _ := strings.Cut(string(data), ") ")
	columns := strings.Fields(rest)
	if len(columns) < 15 {
		peer.Skip(t, "this system does not tell the time of a process: %v", err)
	}
	sum := func(user, system string) time.Duration { // in hundredths of a second
		u, _ := strconv.Atoi(user)
		s, _ := strconv.Atoi(system)
		return time.Duration(u+s) * 10 * time.Millisecond
	}
	return sum(columns[11], columns[12]), sum(columns[13], columns[14])
}

// TestHostileSizes: what is large, but within the limits, runs; what is beyond is refused, or
// ends, by a limit that is stated (T90).
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, x := range map[string]struct {
		shape string
		n     int
		ends  string // what the problem or the error says; empty: it finishes
	}{
		"256 nested tasks":        {"levels", 256, ""},
		"257 nested tasks":        {"levels", 257, "more than 256 levels"},
		"250 levels of data":      {"data levels", 250, ""},
		"257 levels of data":      {"data levels", 257, "more than 256 levels"},
		"10,000 tasks":            {"tasks", 10_000, ""},
		"10,001 tasks":            {"tasks", 10_001, "more than 10,000 tasks"},
		"95,000 items":            {"items", 95_000, ""}, // their list counts as some steps, too
		"100,000 items":           {"items", 100_000, "100,?000"},
		"1,000 branches":          {"branches", 1_000, ""},
		"1,000 timers":            {"branches with wait", 1_000, ""},
		"1,000 branches, one won": {"lost branches", 1_000, ""},
		"1,001 branches":          {"competing branches", 1_001, "at most 1,000"},
		"1,001 filters":           {"filters", 1_001, "at most 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			_, rest, _ := strings.Cut(dsltest.Shaped(x.shape).Definition(x.n), "\n")
			a := post(t, s, "/workflows", definition(unique("size"), "1.0.0", rest))
			if a.Status == 422 && x.ends != "" {
				if !regexp.MustCompile(x.ends).Match(a.Body) {
					t.Errorf("refused without stating %s: %.500s", x.ends, a.Body)
				}
				return
			}
			wantStatus(t, a, 201)
			e := finish(t, s, begin(t, s, text(a.Object()["id"]), "{}"))
			detail := text(fields(e["error"])["detail"])
			if (e["status"] == "finished") != (x.ends == "") || x.ends != "" && !regexp.MustCompile(x.ends).MatchString(detail) {
				t.Errorf("ended %v: %.500s", e["status"], detail)
			}
		})
	}
}
