package app

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/store"
)

// openMail makes the outbox of mails, and shows how it does. A process that only works leaves it to others.
func (t *term) openMail(registry prometheus.Registerer) {
	if t.cfg.mail == nil || t.cfg.WorkerOnly {
		return
	}
	t.mail = mail.New(mail.Config{
		Store: t.store, Sealer: t.sealer, Sender: t.cfg.mail, BaseURL: strings.TrimSuffix(t.cfg.PublicURL, "/"), Log: t.log,
	})
	registry.MustRegister(&mailRows{outbox: t.mail, store: t.store})
}

// mailRows shows what happens to mails.
type mailRows struct {
	outbox *mail.Outbox
	store  *store.Store

	mu      sync.Mutex
	read    time.Time // zero: never
	waiting int64     // -1: not known
}

var mailDescs = []*prometheus.Desc{
	prometheus.NewDesc("chargehand_mails_sent_total", "Mails that the mail server has taken from this process.", nil, nil),
	prometheus.NewDesc("chargehand_mail_failures_total", "Attempts of this process to send a mail that failed.", nil, nil),
	prometheus.NewDesc("chargehand_mails_given_up_total", "Mails that this process has given up.", nil, nil),
	prometheus.NewDesc("chargehand_mails_refused_total", "Mails that this process did not write, because too many waited.", nil, nil),
	prometheus.NewDesc("chargehand_mail_failing", "1: the mail server could not be used at the last attempt of this process.", nil, nil),
}

var mailsWaiting = prometheus.NewDesc("chargehand_mails_waiting", "Mails of the installation that are to be sent; at most 10,000 are counted.", nil, nil)

// Describe implements prometheus.Collector.
func (r *mailRows) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range mailDescs {
		to <- desc
	}
	to <- mailsWaiting
}

// Collect implements prometheus.Collector.
func (r *mailRows) Collect(to chan<- prometheus.Metric) {
	s := r.outbox.Stats()
	for i, n := range [...]int64{s.Sent, s.Failures, s.GivenUp, s.Refused} {
		to <- prometheus.MustNewConstMetric(mailDescs[i], prometheus.CounterValue, float64(n))
	}
	failing := 0.0
	if s.Failing {
		failing = 1
	}
	to <- prometheus.MustNewConstMetric(mailDescs[4], prometheus.GaugeValue, failing)
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.read.IsZero() || now.Sub(r.read) >= rowsAge {
		r.waiting, r.read = r.count(), now
	}
	if r.waiting >= 0 {
		to <- prometheus.MustNewConstMetric(mailsWaiting, prometheus.GaugeValue, float64(r.waiting))
	}
}

func (r *mailRows) count() (n int64) {
	ctx, cancel := context.WithTimeout(context.Background(), rowsTime)
	defer cancel()
	err := r.store.View(ctx, func(reader *store.Reader) (err error) {
		n, err = reader.CountMail(operate.CountedWork)
		return err
	})
	if err != nil {
		return -1
	}
	return n
}
