package drill_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
	"github.com/chargehand/chargehand/internal/servertest"
)

const (
	concurrency = 50 // of the batch
	maxRunning  = 60 // executions of the account that run at once
	outageTime  = 5 * time.Second
)

// drill is one run of the failure drill.
type drill struct {
	*site
	items, singles, effects int

	postgres *peer.Postgres
	s3       *peer.Faulty
	apis     []*node
	workers  []*node
	load     *load
	outages  []outage
	begun    time.Time
	opened   time.Duration // how long the servers took to start
}

// TestDrill runs a batch and single executions on two API nodes and three workers, and kills a
// worker, an API node and Temporal, stops PostgreSQL and has S3 refuse meanwhile.
// CHARGEHAND_DRILL_ITEMS (default 120) and CHARGEHAND_DRILL_SINGLES (default 30) are the sizes.
func TestDrill(t *testing.T) {
	t.Parallel()
	d := &drill{items: number(t, "CHARGEHAND_DRILL_ITEMS", 120), singles: number(t, "CHARGEHAND_DRILL_SINGLES", 30)}
	d.effects = d.items * effectsPer / len(kinds)
	d.build(t)
	watch := startWatcher(t, d.database, bounds{batch: concurrency, account: maxRunning})
	posting, watching := d.begin()
	d.strike()
	posting.Wait()
	d.awaitEnds()
	took := time.Since(d.begun)
	close(d.load.stopping)
	watching.Wait()
	d.verify()
	watch.stop()
	d.verifyQuiet()
	stopAll(t, append(d.apis, d.workers...)...)
	d.run(append([]string{"doctor", "--data-dir", d.apis[1].folder}, d.locationFlags()...)...)
	d.report(took, watch)
}

func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 20 {
		t.Fatalf("%s: %q is not a number of 20 or more", name, text)
	}
	return n
}

// build starts the servers and the nodes.
func (d *drill) build(t *testing.T) {
	begin := time.Now()
	var temporal *temporalpeer.Server
	var bucket peer.Bucket
	together(t,
		func() { servertest.Binary(t) },
		func() {
			d.postgres = peer.StartPostgres(t)
			temporal = temporalpeer.Start(t, temporalpeer.Options{Database: d.postgres.URL("temporal")})
		},
		func() {
			server := peer.StartS3(t)
			bucket = server.NewBucket(t)
			d.s3 = peer.NewFaulty(t, server.Endpoint)
		})
	d.site = newSite(t, d.postgres, temporal, "--max-running", strconv.Itoa(maxRunning))
	d.files, d.env = []string{"--files-url", bucket.Through(d.s3).URL()}, bucket.Env()
	d.apis = []*node{d.api("api-1"), d.api("api-2")}
	d.workers = []*node{d.worker("worker-1"), d.worker("worker-2"), d.worker("worker-3")}
	d.open(append(d.apis, d.workers...)...)
	d.opened = time.Since(begin)
}

// begin starts the batch and the clients. It returns those that start executions, and those
// that look.
func (d *drill) begin() (posting, watching *sync.WaitGroup) {
	servers := []*servertest.Server{d.server(d.apis[0]), d.server(d.apis[1])}
	l := &load{t: d.t, apis: servers, stopping: make(chan struct{}), starting: make(chan int), workflow: servers[0].Apply(d.t, flow())}
	d.load = l
	d.postgres.Exec(d.t, databaseName(d.database), auditText)
	d.begun = time.Now()
	l.startBatch(d.items, concurrency)
	posting = l.startSingles(d.singles, d.effects*9/10, 4, d.receiver)
	watching = new(sync.WaitGroup)
	ids := d.itemIDs()
	watching.Go(func() { l.watchSamples(l.sampler(ids, 20)) })
	for turn := range servers {
		watching.Go(func() { l.awaitLong(turn) })
	}
	return posting, watching
}

// itemIDs are the executions of the batch, in the order of its items.
func (d *drill) itemIDs() []string {
	d.t.Helper()
	c := client{load: d.load}
	a := c.ask(http.MethodGet, d.load.batch.path, "")
	var now view
	if err := json.Unmarshal(a.Body, &now); err != nil || len(now.Executions) != d.items {
		d.t.Fatalf("the batch lists %d executions: %d %.300s", len(now.Executions), a.Status, a.Body)
	}
	ids := make([]string, d.items)
	for i, entry := range now.Executions {
		if entry.Index != i {
			d.t.Errorf("entry %d of the batch is that of item %d", i, entry.Index)
		}
		ids[i] = entry.ExecutionID
	}
	return ids
}

// at waits until a share of the effects of the batch has come, in percent. It fails when none comes for two minutes.
func (d *drill) at(percent int) {
	d.t.Helper()
	reached := d.receiver.reach(d.effects * percent / 100)
	for before := -1; ; {
		select {
		case <-reached:
			return
		case <-time.After(2 * time.Minute):
		}
		effects, _ := d.receiver.count()
		if effects == before {
			d.t.Fatalf("nothing happens: %d effects in %v, waiting for %d%% of %d", effects, time.Since(d.begun), percent, d.effects)
		}
		before = effects
	}
}

// take does harm, and mends it after a time.
func (d *drill) take(name, worker string, harm func(), after func(), mend func()) {
	o := outage{name: name, worker: worker, from: time.Now()}
	harm()
	o.gone = time.Now()
	after()
	mend()
	o.to = time.Now()
	d.outages = append(d.outages, o)
}

// strike does all the harm, each at its place in the progress of the batch. The worker is first:
// what it did comes again when its heartbeats have been missing for 15 s.
func (d *drill) strike() {
	seconds := func() { <-time.After(outageTime) } // how long is what is tested
	again := func(n *node) func() {
		return func() {
			n.verifyGone()
			n.start()
			n.awaitReady()
		}
	}
	d.at(5)
	victim := d.workers[0]
	victim.remember()
	for d.receiver.present(victim.name) == 0 { // it must be in the middle of something
		effects, _ := d.receiver.count()
		<-d.receiver.reach(effects + 1)
	}
	d.take("kill -9 of a worker", victim.name, victim.kill, func() { d.at(10) }, again(victim))
	d.at(13)
	d.apis[0].remember()
	d.load.awaitStart(0)
	d.take("kill -9 of an API node", "", d.apis[0].kill, func() { d.at(18) }, again(d.apis[0]))
	d.at(22)
	d.take("S3 answers 503", "", func() { d.s3.Break(peer.Fault{Status: http.StatusServiceUnavailable}) }, seconds, d.s3.Heal)
	d.at(62)
	d.take("kill -9 of Temporal", "", d.temporal.Kill, func() {}, d.temporal.Restart)
	d.at(75)
	d.take("PostgreSQL stopped", "", d.postgres.Halt, seconds, d.postgres.Start)
}

// awaitEnds waits until the batch and all singles have ended.
func (d *drill) awaitEnds() {
	d.t.Helper()
	deadline := time.Now().Add(time.Minute + time.Duration(d.items+d.singles)*100*time.Millisecond)
	c := client{load: d.load}
	for _, q := range append([]*request{d.load.batch}, d.load.singles...) {
		query := "?wait=10s"
		if q == d.load.batch {
			query += "&executions=none"
		}
		for !c.compare(q, query).final() {
			if time.Now().After(deadline) {
				d.t.Errorf("%s has not ended: %+v", q.in.name(), q.last)
				d.showOpen()
				return
			}
		}
	}
}
