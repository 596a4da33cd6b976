package blackbox_test

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

const (
	// promisedTasks is how fast the slowest of a hundred lists and counts is with 100,000 open tasks, and promisedNext
	// how soon after an answer the next task is open, at the median.
	promisedTasks = 20 * time.Millisecond
	promisedNext  = 5 * time.Millisecond
)

// startAsking asks two people one after the other. Of a hundred executions, one is ada's and her group's, four are hers
// alone, five without an assignee, fifty dan's and his group's, and the others those of people whom the installation
// does not know.
const startAsking = `document: {dsl: '1.0.3', namespace: start, name: asking, version: '1.0.0'}
do:
- ask:
    call: human:1.0.0@default
    with:
      title: '${ "Check the invoice \(.n)" }'
      instructions: 'Compare the *total* with the order.'
      assignees:
        users: '${ (.n % 100) as $k | if $k < 5 then ["ada@example.org"] elif $k < 10 then [] elif $k < 60 then ["dan@example.org"] else ["user\(.n % 1000)@example.org"] end }'
        groups: '${ (.n % 100) as $k | if $k == 0 or ($k >= 10 and $k < 60) then ["controllers"] else [] end }'
      form: {type: object, required: [total], properties: {total: {type: number, title: Total}, remark: {type: string, maxLength: 500}}}
      data: {total: '${ .n }'}
      outcomes: [{name: approve, style: primary}, {name: reject, style: danger}]
      due: P30D
      remind: [P7D, P14D]
      priority: '${ .n % 101 }'
- again: {call: 'human:1.0.0@default', with: {title: Look at it again, assignees: {users: [ada@example.org]}}}
`

// TestStartTasks measures what 100,000 open human tasks (by default 1,000) cost: less than 100 MB, and lists, counts
// and answers are as fast as promised, for people with few and with many of them.
func TestStartTasks(t *testing.T) {
	options := startOptions(t)
	s := servertest.Start(t, options)
	ada, bob, dan := invite(t, s, "ada", "participant"), invite(t, s, "bob", "participant"), invite(t, s, "dan", "operator")
	newGroup(t, s, "controllers", ada, bob, dan)
	workflow := s.Apply(t, startAsking)
	wantStatus(t, as(t, s, ada.key, "GET", "/human-tasks/counts", ""), 200)
	rest := time.Duration(startNumber(1, 20)) * time.Second
	s, _ = restart(t, s, options) // the memory that the passwords took is given back late
	before := restingBytes(t, s.PID(), rest)
	n := startNumber(1_000, 100_000)
	executions := storeMany(t, s, workflow, n)
	after := restingBytes(t, s.PID(), rest)
	s, ready := restart(t, s, options)
	restarted := restingBytes(t, s.PID(), rest)
	t.Logf("%.1f MB before, %.1f MB after, %.1f MB after a restart, which took %v; %d bytes in the database per task",
		float64(before)/1e6, float64(after)/1e6, float64(restarted)/1e6, ready.Round(time.Millisecond), folderBytes(t, options.DataDir)/int64(n))
	for what, bytes := range map[string]int64{"after they were opened": after, "after a restart": restarted} {
		if bytes-before >= 100e6 {
			t.Errorf("open human tasks cost %d bytes %s, want less than 100 MB", bytes-before, what)
		}
	}
	wantCounts(t, s, n, ada, bob, dan)
	readTasks(t, s, []*colleague{ada, bob, dan}, executions)
	answerTasks(t, s, ada)
	used := restingBytes(t, s.PID(), rest)
	t.Logf("%.1f MB after all reads and answers", float64(used)/1e6)
}

// wantCounts holds the counts of three people to what the workflow says.
func wantCounts(t *testing.T, s *servertest.Server, n int, ada, bob, dan *colleague) {
	t.Helper()
	for who, want := range map[*colleague]map[string]int{
		ada: {"mine": n / 20, "groups": n / 2, "unassigned": n / 20, "overdue": 0, "all": n/20 + n/2 + n/20},
		bob: {"mine": 0, "groups": n/100 + n/2, "unassigned": n / 20, "overdue": 0, "all": n/100 + n/2 + n/20},
		dan: {"mine": n / 2, "groups": n / 100, "unassigned": n / 20, "overdue": 0, "all": n/2 + n/100 + n/20},
	} {
		got := as(t, s, who.key, "GET", "/human-tasks/counts", "").Object()
		for name, number := range want {
			count, atLeast := fields(got[name])["count"].(int), fields(got[name])["at_least"] == true
			if count > number || !atLeast && count != number || atLeast && count < min(number, 1) || count > 10_000 {
				t.Errorf("of %s, the count %s is %v, want %d", who.name, name, got[name], number)
			}
			if atLeast && number <= 10_000 && name != "groups" { // long lists that are compared may be counted in part
				t.Errorf("of %s, the count %s is %v, want exactly %d", who.name, name, got[name], number)
			}
		}
	}
}

// taskRead is a way to read human tasks. Those that are promised are held to the promise.
type taskRead struct {
	name, key string
	promised  bool
	path      func() string
}

func taskReads(people []*colleague, admin string, cursors map[string][]string, executions []string, r *rand.Rand) (list []taskRead) {
	add := func(promised bool, name, key, path string) {
		list = append(list, taskRead{name, key, promised, func() string { return path }})
	}
	for _, who := range people {
		for _, sort := range []string{"due", "created", "priority"} {
			add(true, who.name+": mine by "+sort, who.key, "/human-tasks?assignee=me&limit=50&sort="+sort)
			add(true, who.name+": those of my groups by "+sort, who.key, "/human-tasks?assignee=my-groups&limit=50&sort="+sort)
			add(true, who.name+": what I see by "+sort, who.key, "/human-tasks?limit=50&sort="+sort)
		}
		add(true, who.name+": counts", who.key, "/human-tasks/counts")
		add(true, who.name+": unassigned", who.key, "/human-tasks?unassigned=true&limit=50")
		add(true, who.name+": overdue", who.key, "/human-tasks?overdue=true&limit=50")
		pages := cursors[who.key]
		list = append(list, taskRead{who.name + ": mine, a later page", who.key, true, func() string {
			if len(pages) == 0 {
				return "/human-tasks?assignee=me&limit=50"
			}
			return "/human-tasks?assignee=me&limit=50&cursor=" + pages[r.IntN(len(pages))]
		}})
	}
	add(true, "admin: of an assignee", admin, "/human-tasks?assignee=ada@example.org&limit=50")
	add(true, "admin: of a group", admin, "/human-tasks?group=controllers&limit=50")
	add(true, "admin: all", admin, "/human-tasks?limit=100")
	add(true, "admin: counts", admin, "/human-tasks/counts")
	add(false, "admin: a text that is nowhere", admin, "/human-tasks?q=nothing+like+this")
	add(false, "admin: a text", admin, "/human-tasks?q=invoice+77&limit=50")
	list = append(list, taskRead{"admin: of an execution", admin, false, func() string {
		path := executions[r.IntN(len(executions))]
		return "/human-tasks?execution_id=" + path[len(path)-36:]
	}})
	return list
}

// readTasks reads in every way, and compares with what is promised as TestManyStored does.
func readTasks(t *testing.T, s *servertest.Server, people []*colleague, executions []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 3))
	cursors := map[string][]string{}
	for _, who := range people {
		for after, pages := "", 0; pages < startNumber(5, 60); pages++ {
			cursor := text(as(t, s, who.key, "GET", "/human-tasks?assignee=me&limit=50"+after, "").Object()["cursor"])
			if cursor == "" {
				break
			}
			cursors[who.key] = append(cursors[who.key], url.QueryEscape(cursor))
			after = "&cursor=" + url.QueryEscape(cursor)
		}
	}
	var all []time.Duration
	var lines []readTimes
	for _, read := range taskReads(people, s.Key, cursors, executions, r) {
		times := readTimes{name: read.name}
		for range startNumber(2, 40) {
			path := read.path()
			fastest, computed := time.Hour, time.Hour
			for range startNumber(1, 3) {
				before, begin := computedBy(s.PID()), time.Now()
				a := as(t, s, read.key, "GET", path, "")
				fastest, computed = min(fastest, time.Since(begin)), min(computed, computedBy(s.PID())-before)
				if a.Status != http.StatusOK {
					t.Fatalf("%s: %s: %d %.300s", read.name, path, a.Status, a.Body)
				}
			}
			times.add(fastest, computed, path)
			if read.promised {
				all = append(all, fastest)
			}
		}
		lines = append(lines, times)
		if startFull() && read.promised && times.computed > 2*promisedTasks {
			t.Errorf("%s: the server computes for %v at %s", read.name, times.computed, times.path)
		}
	}
	slices.SortFunc(lines, func(a, b readTimes) int { return cmp.Compare(b.slowest, a.slowest) })
	for _, l := range lines[:min(len(lines), startNumber(3, 45))] {
		t.Logf("%-40s p50 %8v p99 %8v computing at most %8v", l.name, l.quantile(0.5), l.quantile(0.99), l.computed)
	}
	slices.Sort(all)
	p50, p99 := all[len(all)/2], all[len(all)*99/100]
	t.Logf("%d reads of those that are promised: p50 %v, p99 %v", len(all), p50, p99)
	if startFull() && p99 > slower*promisedTasks {
		t.Errorf("the slowest of a hundred lists and counts takes %v", p99)
	}
}

// answerTasks measures how long after an answer the execution shows its next task.
func answerTasks(t *testing.T, s *servertest.Server, who *colleague) {
	t.Helper()
	page := as(t, s, who.key, "GET", "/human-tasks?assignee=me&limit=100&sort=created", "")
	wantStatus(t, page, 200)
	var answered, opened []time.Duration
	for _, item := range list(page.Object()["data"]) {
		task := fields(item)
		if task["title"] == "Look at it again" {
			continue
		}
		begin := time.Now()
		wantStatus(t, as(t, s, who.key, "POST", "/human-tasks/"+text(task["id"])+"/answer", `{"outcome":"approve","data":{"total":1}}`), 200)
		answered = append(answered, time.Since(begin))
		for {
			next := list(s.Do(t, "GET", "/executions/"+text(task["execution_id"]), "").Object()["human_tasks"])
			if len(next) == 1 && fields(next[0])["title"] == "Look at it again" {
				break
			}
			if time.Since(begin) > time.Minute {
				t.Fatalf("the next task is not open: %v", next)
			}
		}
		opened = append(opened, time.Since(begin))
	}
	slices.Sort(answered)
	slices.Sort(opened)
	median := opened[len(opened)/2]
	t.Logf("%d answers: answered p50 %v, p99 %v; the next task is seen p50 %v, p99 %v", len(opened),
		answered[len(answered)/2], answered[len(answered)*99/100], median, opened[len(opened)*99/100])
	if startFull() && median > slower*promisedNext {
		t.Errorf("the next task is open %v after an answer", median)
	}
}
