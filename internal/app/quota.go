package app

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/disk"
	"github.com/chargehand/chargehand/internal/service"
)

// queuedPerWorkflow is the quota that the engine enforces.
func (c Config) queuedPerWorkflow() int64 {
	if n := c.Quotas.WithDefaults().Queued; n >= 0 {
		return n
	}
	return math.MaxInt32
}

// reserve is that of the disks that this process writes to: the data directory, with the database and the files unless
// they are elsewhere, and the folder of the files.
func (c Config) reserve(log *slog.Logger) *disk.Reserve {
	return disk.NewReserve(log, disk.Free, c.writtenFolders()...)
}

func (c Config) writtenFolders() []string {
	paths := []string{c.DataDir}
	if l, err := c.Location(); err == nil && l.Folder != "" && l.Folder != c.DataDir {
		paths = append(paths, l.Folder)
	}
	return paths
}

// quotas shows the use of quotas. While the database cannot be asked, there is nothing to show.
type quotas struct {
	service *service.Service
	used    *prometheus.Desc
	limit   *prometheus.Desc
	low     *prometheus.Desc

	mu   sync.Mutex
	read time.Time // zero: never
	uses []service.QuotaUse
}

func newQuotas(s *service.Service) *quotas {
	return &quotas{
		service: s,
		used: prometheus.NewDesc("chargehand_quota_used",
			"What is used of a quota, by the name of GET /limits, in each environment of an account, or in an account as a whole; of the first 100 accounts.",
			[]string{"quota", "account", "environment"}, nil),
		limit: prometheus.NewDesc("chargehand_quota_limit", "Quotas, by the name of GET /limits; 0: no limit.", []string{"quota"}, nil),
		low: prometheus.NewDesc("chargehand_storage_reserve",
			"1: a disk of this process has less free space than its reserve, and new executions and uploads are refused.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (q *quotas) Describe(to chan<- *prometheus.Desc) {
	to <- q.used
	to <- q.limit
	to <- q.low
}

// Collect implements prometheus.Collector.
func (q *quotas) Collect(to chan<- prometheus.Metric) {
	low := 0.0
	if len(q.service.Degraded()) > 0 {
		low = 1
	}
	to <- prometheus.MustNewConstMetric(q.low, prometheus.GaugeValue, low)
	for _, l := range q.service.Quotas().List() {
		to <- prometheus.MustNewConstMetric(q.limit, prometheus.GaugeValue, float64(l.Value), l.Name)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); q.read.IsZero() || now.Sub(q.read) >= rowsAge {
		ctx, cancel := context.WithTimeout(context.Background(), rowsTime)
		defer cancel()
		uses, err := q.service.QuotaUses(ctx)
		if err != nil {
			uses = nil
		}
		q.uses, q.read = uses, now
	}
	for _, u := range q.uses {
		to <- prometheus.MustNewConstMetric(q.used, prometheus.GaugeValue, float64(u.Used), u.Quota, u.Account, u.Environment)
	}
}
