package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
)

// Open opens an empty database, which it closes when t has ended.
type Open func(t *testing.T) store.DB

type group struct {
	name  string
	tests map[string]func(*fixture)
}

// Run runs the suite. Every test ends with a check of the invariants of package store.
func Run(t *testing.T, open Open) { run(t, open, nil, groups()) }

// RunSealed runs the suite on databases in which everything is sealed that may be, and the tests of that. Groups
// whose rows hold nothing of that have their turn with CHARGEHAND_FULL.
func RunSealed(t *testing.T, open Open, sealer store.Sealer) {
	run(t, open, sealer, append(only(sealing), group{"sealed", sealedTests}))
}

// sealing are the groups whose rows are sealed.
var sealing = []string{"execution", "waits", "human task", "journal", "log", "batch", "workflow", "file", "blob", "event", "schedule", "audit", "usage", "operation"}

// RunSealedAgain is RunSealed for a further kind of database. The tests of what is sealed write each column there
// that may be; groups whose rows are sealed before they come to the database have their turn with CHARGEHAND_FULL.
func RunSealedAgain(t *testing.T, open Open, sealer store.Sealer) {
	run(t, open, sealer, append(only([]string{"execution", "journal", "batch"}), group{"sealed", sealedTests}))
}

// RunAgain runs the suite on a database whose statements are those of one that Run has seen, and whose commits are
// made in another way. Groups that commit as others do have their turn with CHARGEHAND_FULL.
func RunAgain(t *testing.T, open Open) { run(t, open, nil, only(committing)) }

// committing are the groups that commit in a way of their own: many rows, conflicts, sums, locks, and commits in doubt.
var committing = []string{"db", "execution", "journal", "batch", "idempotency", "outbox", "dispatch", "lock", "usage"}

// only are the groups with those names; with CHARGEHAND_FULL all.
func only(names []string) []group {
	all := groups()
	if !sample.Full() {
		all = slices.DeleteFunc(all, func(g group) bool { return !slices.Contains(names, g.name) })
	}
	return all
}

func groups() []group {
	return []group{
		{"db", dbTests}, {"execution", executionTests}, {"list", listTests}, {"journal", journalTests}, {"log", logTests}, {"timer", timerTests},
		{"batch", batchTests}, {"waits", waitsTests}, {"human task", humanTaskTests}, {"fact", factTests}, {"workflow", workflowTests}, {"key", keyTests}, {"idempotency", idempotencyTests},
		{"file", fileTests}, {"blob", blobTests}, {"retention", retentionTests}, {"account", accountTests}, {"keyring", keyringTests},
		{"outbox", outboxTests}, {"dispatch", dispatchTests}, {"lock", lockTests},
		{"secret", secretTests}, {"event", eventTests}, {"subscription", subscriptionTests}, {"child", childTests},
		{"schedule", scheduleTests}, {"sink", sinkTests}, {"people", peopleTests}, {"sign-in", signInTests}, {"audit", auditTests}, {"usage", usageTests}, {"rollup", rollupTests}, {"count", countTests}, {"mail", mailTests}, {"operation", operationTests},
	}
}

func run(t *testing.T, open Open, sealer store.Sealer, groups []group) {
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					f := &fixture{T: t, db: open(t), sealer: sealer}
					f.Store = store.New(f.db)
					if sealer != nil {
						f.SetSealer(sealer, true, nil)
						f.RefuseClear() // nothing that the store writes itself is clear then
					}
					test(f)
					f.checkInvariants()
				})
			}
		})
	}
}

// fixture is one test with its database.
type fixture struct {
	*testing.T
	*store.Store
	db     store.DB
	n      uint64       // of the last id
	sealer store.Sealer // nil: nothing is sealed
}

// startMs is the time at which the tests take place.
const startMs = 1_700_000_000_000

// id makes ids that ascend with ms, then with each call.
func id[K any](f *fixture, ms int64) (id chargehand.ID[K]) {
	f.n++
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], f.n)
	return id
}

func (f *fixture) update(fn func(*store.Tx) error) {
	f.Helper()
	if err := f.Update(context.Background(), fn); err != nil {
		f.Fatalf("update: %v", err)
	}
}

func (f *fixture) view(fn func(*store.Reader) error) {
	f.Helper()
	if err := f.View(context.Background(), fn); err != nil {
		f.Fatalf("view: %v", err)
	}
}

// refused expects an Update to fail with that sentinel.
func (f *fixture) refused(want error, fn func(*store.Tx) error) {
	f.Helper()
	if err := f.Update(context.Background(), fn); !errors.Is(err, want) {
		f.Errorf("update: %v, want %v", err, want)
	}
}

// execution is a complete, queued execution created at ms.
func (f *fixture) execution(ms int64) store.Execution {
	e := store.Execution{
		Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Machine: 1,
		Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued,
		Input: inline(`{"n":1}`),
	}
	setID(f, &e.ID, ms)
	return e
}

func setID[K any](f *fixture, to *chargehand.ID[K], ms int64) { *to = id[K](f, ms) }

// insert inserts executions in one Update.
func (f *fixture) insert(list ...*store.Execution) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		for _, e := range list {
			if err := tx.InsertExecution(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// inserted inserts a queued execution and returns its number.
func (f *fixture) inserted() int64 {
	f.Helper()
	e := f.execution(startMs)
	f.insert(&e)
	return e.No
}

// finish ends an execution as finished with output, at ms.
func finish(tx *store.Tx, no, ms int64, output string) (bool, error) {
	return tx.FinishExecution(no, chargehand.Finished, chargehand.Completed, ms, ms, &store.Outcome{Output: inline(output)})
}

// fault ends an execution as faulted, at ms.
func fault(tx *store.Tx, no, ms int64) (bool, error) {
	return tx.FinishExecution(no, chargehand.Errored, chargehand.Faulted, ms, ms, &store.Outcome{Fault: []byte(`{"status":500}`)})
}

func inline(s string) store.Payload {
	return store.Payload{Inline: []byte(s), Size: int64(len(s))}
}

// blobPayload reserves a digest and returns a payload with that content.
func (f *fixture) blobPayload(name byte, size int64) store.Payload {
	f.Helper()
	digest := make([]byte, 32)
	digest[0] = name
	f.update(func(tx *store.Tx) error { return tx.ReserveBlob(digest, size) })
	return store.Payload{Blob: digest, Size: size}
}

// number runs a query of one number.
func (f *fixture) number(query string, args ...any) (n int64) {
	f.Helper()
	err := f.db.View(context.Background(), func(c store.Conn) error {
		return c.Query(query, func(r store.Row) error {
			n = r.Int(0)
			return nil
		}, args...)
	})
	if err != nil {
		f.Fatalf("%s: %v", query, err)
	}
	return n
}

// invariants are queries that count what must not be there.
var invariants = map[string]string{
	"state that does not match the status": `SELECT COUNT(*) FROM execution WHERE (state = 0) <> (status >= 4)`,
	"final executions without outcome": `SELECT COUNT(*) FROM execution e WHERE state = 0
 AND NOT EXISTS (SELECT 1 FROM outcome o WHERE o.execution = e.no)`,
	"outcomes of executions that are not final": `SELECT COUNT(*) FROM outcome o
 WHERE NOT EXISTS (SELECT 1 FROM execution e WHERE e.no = o.execution AND e.state = 0)`,
	"final executions without time":        `SELECT COUNT(*) FROM execution WHERE (state = 0) <> (finished_ms > 0)`,
	"journals of no execution":             `SELECT COUNT(*) FROM journal j WHERE ` + noneRunning("j"),
	"notes of the ends of none":            `SELECT COUNT(*) FROM rollup_ended j WHERE NOT EXISTS (SELECT 1 FROM execution e WHERE e.no = j.execution AND e.state = 0)`,
	"checkpoints of no execution":          `SELECT COUNT(*) FROM checkpoint j WHERE ` + noneRunning("j"),
	"timers of no execution":               `SELECT COUNT(*) FROM timer j WHERE ` + noneRunning("j"),
	"secrets of no execution":              `SELECT COUNT(*) FROM execution_secret j WHERE ` + noneRunning("j"),
	"subscriptions of no execution":        `SELECT COUNT(*) FROM subscription j WHERE ` + noneRunning("j"),
	"matches of no schedule":               `SELECT COUNT(*) FROM schedule_match m WHERE NOT EXISTS (SELECT 1 FROM schedule s WHERE s.no = m.schedule)`,
	"filters of no execution":              `SELECT COUNT(*) FROM subscription_filter f WHERE NOT EXISTS (SELECT 1 FROM subscription s WHERE s.no = f.subscription)`,
	"streams that end before their events": `SELECT COUNT(*) FROM stream s WHERE last < (SELECT COALESCE(MAX(number), 0) FROM event e WHERE e.account = s.account AND e.environment = s.environment)`,
	"events of no stream":                  `SELECT COUNT(*) FROM event e WHERE NOT EXISTS (SELECT 1 FROM stream s WHERE e.account = s.account AND e.environment = s.environment)`,
	"children of no execution":             `SELECT COUNT(*) FROM child j WHERE ` + noExecution("j"),
	"children that run or not":             `SELECT COUNT(*) FROM child c JOIN execution e ON e.no = c.execution WHERE c.parent <> 0 AND (c.state IN (1, 2, 4)) <> (e.state <> 0)`,
	"awaited by no execution":              `SELECT COUNT(*) FROM child c WHERE c.state IN (1, 3) AND NOT EXISTS (SELECT 1 FROM execution e WHERE e.no = c.parent AND e.state <> 0)`,
	"trees whose counts are not true": `SELECT COUNT(*) FROM child r WHERE r.parent = 0 AND r.unfinished <>
 (SELECT COUNT(*) FROM child c JOIN execution e ON e.no = c.execution WHERE c.root = r.execution AND e.state <> 0)`,
	"items of no operation": `SELECT COUNT(*) FROM operation_item i WHERE NOT EXISTS (SELECT 1 FROM operation o WHERE o.no = i.operation)`,
	"operations whose counts are not true": `SELECT COUNT(*) FROM operation o WHERE status < 6 AND (total <> (SELECT COUNT(*) FROM operation_item i WHERE i.operation = o.no)
 OR succeeded <> (SELECT COUNT(*) FROM operation_item i WHERE i.operation = o.no AND outcome = 1)
 OR skipped + failed <> (SELECT COUNT(*) FROM operation_item i WHERE i.operation = o.no AND outcome IN (2, 3)))`,
	"inputs of no execution": `SELECT COUNT(*) FROM input j WHERE ` + noExecution("j"),
	"logs of no execution":   `SELECT COUNT(*) FROM log_segment j WHERE ` + noExecution("j"),
	"logs with gaps": `SELECT COUNT(*) FROM log_segment s WHERE line + lines <> COALESCE((SELECT MIN(n.line) FROM log_segment n WHERE n.execution = s.execution AND n.line > s.line), line + lines)
 OR total - bytes <> COALESCE((SELECT MAX(p.total) FROM log_segment p WHERE p.execution = s.execution AND p.line < s.line), 0)`,
	"timelines of no execution":           `SELECT COUNT(*) FROM timeline_chunk j WHERE ` + noExecution("j"),
	"uses of files by no execution":       `SELECT COUNT(*) FROM file_use j WHERE ` + noExecution("j"),
	"files of no execution":               `SELECT COUNT(*) FROM file j WHERE j.execution <> 0 AND ` + noExecution("j"),
	"payloads of no execution":            `SELECT COUNT(*) FROM execution_blob j WHERE ` + noExecution("j"),
	"human tasks of no execution":         `SELECT COUNT(*) FROM human_task j WHERE ` + noExecution("j"),
	"open human tasks of none that runs":  `SELECT COUNT(*) FROM human_task j WHERE j.ended_ms = 0 AND ` + noneRunning("j"),
	"candidates of no open task":          `SELECT COUNT(*) FROM human_candidate c WHERE NOT EXISTS (SELECT 1 FROM human_task h WHERE h.no = c.task AND h.ended_ms = 0)`,
	"open human tasks without candidates": `SELECT COUNT(*) FROM human_task h WHERE h.ended_ms = 0 AND NOT EXISTS (SELECT 1 FROM human_candidate c WHERE c.task = h.no)`,
	"claims that no list shows":           `SELECT COUNT(*) FROM human_candidate c JOIN human_task h ON h.no = c.task WHERE c.kind = 4 AND h.status <> 2`,
	"times of no open human task":         `SELECT COUNT(*) FROM human_time c WHERE NOT EXISTS (SELECT 1 FROM human_task h WHERE h.no = c.task AND h.ended_ms = 0)`,
	"facts of no human task":              `SELECT COUNT(*) FROM fact f WHERE NOT EXISTS (SELECT 1 FROM human_task h WHERE h.no = f.task)`,
	"facts with numbers not given yet":    `SELECT COUNT(*) FROM fact f WHERE number > COALESCE((SELECT number FROM fact_cursor WHERE name = 'published'), 0)`,
	"mails that are not counted":          `SELECT COUNT(*) FROM task_mail m WHERE NOT EXISTS (SELECT 1 FROM task_mail_rate r WHERE r.workflow = m.workflow AND r.environment = m.environment)`,
	"rates of mail that are not true":     `SELECT COUNT(*) FROM task_mail_rate r WHERE waiting <> (SELECT COUNT(*) FROM task_mail m WHERE m.workflow = r.workflow AND m.environment = r.environment)`,
	"comments on no human task":           `SELECT COUNT(*) FROM human_comment c WHERE NOT EXISTS (SELECT 1 FROM human_task h WHERE h.no = c.task)`,
	"drafts of no open task":              `SELECT COUNT(*) FROM human_draft d WHERE NOT EXISTS (SELECT 1 FROM human_task h WHERE h.no = d.task AND h.ended_ms = 0)`,
	"uses of no file":                     `SELECT COUNT(*) FROM file_use u WHERE NOT EXISTS (SELECT 1 FROM file f WHERE f.no = u.file)`,
	"batches whose counts are not true":   `SELECT COUNT(*) FROM batch b WHERE finished <> (SELECT COUNT(*) FROM execution WHERE batch = b.no AND status = 4) OR failed <> (SELECT COUNT(*) FROM execution WHERE batch = b.no AND status = 5)`,
	"batches final before or after time":  `SELECT COUNT(*) FROM batch WHERE (status >= 3) <> (finished + failed = total) OR (status >= 3) <> (finished_ms > 0)`,
	"blobs whose references are not true": `SELECT COUNT(*) FROM blob b WHERE refs <> ` + references,
	"environments whose usage is not true": usageDiffers("environment <> 0 AND actor = 0", `SELECT account, environment, 0 AS actor, 1 AS executions, bytes, 0 AS users FROM execution
  UNION ALL SELECT e.account, e.environment, 0, 0, l.bytes, 0 FROM log_segment l JOIN execution e ON e.no = l.execution
  UNION ALL SELECT account, environment, 0, 0, bytes, 0 FROM human_task
  UNION ALL SELECT h.account, h.environment, 0, 0, c.bytes, 0 FROM human_comment c JOIN human_task h ON h.no = c.task
  UNION ALL SELECT h.account, h.environment, 0, 0, d.bytes, 0 FROM human_draft d JOIN human_task h ON h.no = d.task
  UNION ALL SELECT account, environment, 0, 0, size, 0 FROM file`),
	"actors whose usage is not true": usageDiffers("actor <> 0", `SELECT account, environment, started_by AS actor, 1 AS executions, bytes, 0 AS users FROM execution WHERE started_by <> 0
  UNION ALL SELECT e.account, e.environment, e.started_by, 0, l.bytes, 0 FROM log_segment l JOIN execution e ON e.no = l.execution WHERE e.started_by <> 0
  UNION ALL SELECT account, environment, owner, 0, bytes, 0 FROM human_task WHERE owner <> 0
  UNION ALL SELECT h.account, h.environment, c.author, 0, c.bytes, 0 FROM human_comment c JOIN human_task h ON h.no = c.task
  UNION ALL SELECT h.account, h.environment, d.author, 0, d.bytes, 0 FROM human_draft d JOIN human_task h ON h.no = d.task
  UNION ALL SELECT account, environment, owner, 0, size, 0 FROM file WHERE owner <> 0`),
	"accounts whose usage is not true": usageDiffers("environment = 0", `SELECT account, 0 AS environment, 0 AS actor, 0 AS executions, 0 AS bytes, 1 AS users FROM membership`),
	// What is sealed is 41 bytes longer, which do not count.
	"executions whose bytes are not true": `SELECT COUNT(*) FROM execution e WHERE
 COALESCE(input_size, (SELECT length(data) FROM input WHERE execution = e.no), length(input), 0)
 + COALESCE((SELECT COALESCE(output_size, length(output), 0) FROM outcome WHERE execution = e.no), 0) - bytes NOT IN (0, 41, 82)`,
	"human tasks whose bytes are not true": `SELECT COUNT(*) FROM human_task WHERE COALESCE(request_size, length(request), 0) + COALESCE(answer_size, length(answer), 0) - bytes NOT IN (0, 41, 82)`,
	"references to blobs that are missing": `SELECT COUNT(*) FROM file f WHERE NOT EXISTS (SELECT 1 FROM blob b WHERE b.digest = f.digest AND b.deleting = 0)`,
}

// usageDiffers counts the owners whose sums in usage_sum differ from those over the rows that a query gives.
func usageDiffers(owners, rows string) string {
	return `SELECT COUNT(*) FROM (SELECT account, environment, actor FROM (` + rows + `
  UNION ALL SELECT account, environment, actor, -executions, -bytes, -users FROM usage_sum WHERE ` + owners + `) x
 GROUP BY account, environment, actor HAVING SUM(executions) <> 0 OR SUM(bytes) <> 0 OR SUM(users) <> 0) y`
}

const references = `(SELECT COUNT(*) FROM file WHERE digest = b.digest)
 + (SELECT COUNT(*) FROM execution WHERE input_blob = b.digest) + (SELECT COUNT(*) FROM outcome WHERE output_blob = b.digest)
 + (SELECT COUNT(*) FROM journal WHERE event_blob = b.digest) + (SELECT COUNT(*) FROM checkpoint WHERE state_blob = b.digest) + (SELECT COUNT(*) FROM execution_blob WHERE digest = b.digest)
 + (SELECT COUNT(*) FROM log_segment WHERE data_blob = b.digest)
 + (SELECT COUNT(*) FROM human_task WHERE request_blob = b.digest) + (SELECT COUNT(*) FROM human_task WHERE answer_blob = b.digest)
 + (SELECT COUNT(*) FROM event WHERE data_blob = b.digest)
 + (SELECT COUNT(*) FROM schedule_match WHERE state_blob = b.digest)`

func noExecution(row string) string {
	return fmt.Sprintf("NOT EXISTS (SELECT 1 FROM execution e WHERE e.no = %s.execution)", row)
}

func noneRunning(row string) string {
	return fmt.Sprintf("NOT EXISTS (SELECT 1 FROM execution e WHERE e.no = %s.execution AND e.state <> 0)", row)
}

// CheckUsage reports sums of usage that are not true.
func CheckUsage(t testing.TB, db store.DB) {
	t.Helper()
	for _, name := range []string{"environments", "actors", "accounts"} {
		name += " whose usage is not true"
		err := db.View(context.Background(), func(c store.Conn) error {
			return c.Query(invariants[name], func(r store.Row) error {
				if n := r.Int(0); n != 0 {
					t.Errorf("%d %s", n, name)
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CheckInvariants reports everything in the database that package store promises not to
// be there. Tests of crashes use it too.
func CheckInvariants(t *testing.T, db store.DB) {
	t.Helper()
	f := &fixture{T: t, db: db}
	f.checkInvariants()
}

func (f *fixture) checkInvariants() {
	f.Helper()
	if f.Failed() {
		return
	}
	for name, query := range invariants {
		var n int64
		err := f.db.View(context.Background(), func(c store.Conn) error {
			return c.Query(query, func(r store.Row) error {
				n = r.Int(0)
				return nil
			})
		})
		if errors.Is(err, store.ErrUnavailable) {
			return // the test closed it
		}
		if err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		if n != 0 {
			f.Errorf("%d %s", n, name)
		}
	}
}
