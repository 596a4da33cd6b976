package app

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/reminder"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
)

// openReminder makes the worker that looks after the times of human tasks, and shows how it does. A process that only
// works leaves it to others.
func (t *term) openReminder(registry prometheus.Registerer) {
	if t.cfg.WorkerOnly {
		return
	}
	t.reminder = reminder.New(reminder.Config{
		Store: t.store, Mail: t.mail, Link: t.mailedLink, Shared: t.cfg.Engine == installation.EngineTemporal, Log: t.log,
	})
	registry.MustRegister(&reminderRows{worker: t.reminder, store: t.store, mails: t.mail.On()})
}

// mailedLink is the address by which the addressee of a mail answers a task (reminder.Link).
func (t *term) mailedLink(tx *store.Tx, task *store.HumanTask, to *reminder.Addressee) (string, time.Time, error) {
	address, err := t.service.MailedTaskLink(tx, task, t.mail.BaseURL(), to.Email, to.Name)
	return address, time.Now().Add(service.TaskLinkLife), err
}

// reminderRows shows what becomes of the times of human tasks, and of mails about them.
type reminderRows struct {
	worker *reminder.Worker
	store  *store.Store
	mails  bool // they are sent

	mu      sync.Mutex
	read    time.Time // zero: never
	waiting int64     // -1: not known
}

var (
	taskTimes        = prometheus.NewDesc("chargehand_task_times_total", "Reminders of human tasks, and tasks that became overdue, that this process has noted.", nil, nil)
	taskMailsWaiting = prometheus.NewDesc("chargehand_task_mails_waiting", "Mails about human tasks of the installation that are still to be handed to the outbox.", nil, nil)
	taskMailsLeft    = prometheus.NewDesc("chargehand_task_mails_left_out_total", "Mails about human tasks that this process did not write, because too many of their workflow or account waited.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r *reminderRows) Describe(to chan<- *prometheus.Desc) {
	to <- taskTimes
	to <- taskMailsWaiting
	to <- taskMailsLeft
}

// Collect implements prometheus.Collector.
func (r *reminderRows) Collect(to chan<- prometheus.Metric) {
	s := r.worker.Stats()
	to <- prometheus.MustNewConstMetric(taskTimes, prometheus.CounterValue, float64(s.Noted))
	if !r.mails {
		return
	}
	to <- prometheus.MustNewConstMetric(taskMailsLeft, prometheus.CounterValue, float64(s.Left))
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.read.IsZero() || now.Sub(r.read) >= rowsAge {
		r.waiting, r.read = r.count(), now
	}
	if r.waiting >= 0 {
		to <- prometheus.MustNewConstMetric(taskMailsWaiting, prometheus.GaugeValue, float64(r.waiting))
	}
}

func (r *reminderRows) count() (n int64) {
	ctx, cancel := context.WithTimeout(context.Background(), rowsTime)
	defer cancel()
	err := r.store.View(ctx, func(reader *store.Reader) (err error) {
		n, err = reader.CountTaskMail()
		return err
	})
	if err != nil {
		return -1
	}
	return n
}
