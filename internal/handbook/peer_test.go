package handbook

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
)

// The servers of the pages about installations that grow. Pages share PostgreSQL and Temporal, and have a
// database and a namespace each.
var shared struct {
	mu       sync.Mutex
	postgres *peer.Postgres
	temporal *temporalpeer.Server
}

func stopPeers() {
	if shared.temporal != nil {
		shared.temporal.Stop()
	}
	if shared.postgres != nil {
		shared.postgres.Stop()
	}
}

var (
	databaseURL = regexp.MustCompile(`postgres://[^'"\s]*db\.example\.com[^'"\s]*`)
	bucketURL   = regexp.MustCompile(`s3://chargehand-files[^'"\s]*`)
)

const temporalAddress = "temporal.example.com:7233"

// peersOf starts the servers that the commands of a page need. It returns what replaces their names in
// the page, and the environment of its commands.
func peersOf(t *testing.T, page Page) (replacements, env []string) {
	t.Helper()
	var all strings.Builder
	for _, b := range page.Blocks {
		if isRun(b) || b.Kind == "save" {
			all.WriteString(b.Text)
		}
	}
	commands := all.String()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if found := databaseURL.FindAllString(commands, -1); found != nil {
		if shared.postgres == nil {
			shared.postgres = peer.StartPostgres(t, peer.PostgresOptions{Keep: true, Careless: true})
		}
		database := shared.postgres.NewDatabase(t)
		for _, url := range found {
			replacements = append(replacements, url, database)
		}
	}
	if found := bucketURL.FindAllString(commands, -1); found != nil {
		bucket := peer.StartS3(t).NewBucket(t)
		for _, url := range found {
			replacements = append(replacements, url, bucket.URL())
		}
		env = append(env, bucket.Env()...)
	}
	if strings.Contains(commands, temporalAddress) {
		if shared.temporal == nil {
			shared.temporal = temporalpeer.Start(t, temporalpeer.Options{Keep: true})
		}
		replacements = append(replacements, temporalAddress, shared.temporal.Address())
	}
	return replacements, env
}
