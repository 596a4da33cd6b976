package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/disk"
	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// systemAge is for how long the state of the installation is not read again, however often it is asked for.
	systemAge = 5 * time.Second
	// systemTime bounds the reading of it, and lagTime the transaction that measures the writer.
	systemTime = 5 * time.Second
	lagTime    = 2 * time.Second
)

// system tells the state of an installation. Requests at the same time wait for one reading.
type system struct {
	cfg     Config
	store   *store.Store
	service *service.Service
	workers func() int64 // that ask Temporal for work; nil: the engine is the embedded one
	began   time.Time

	reading sync.Mutex
	last    *service.System // nil: never read
}

// report reads the state, unless it was read a moment ago. Errors: store.ErrUnavailable.
func (s *system) report(ctx context.Context) (*service.System, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	now := time.Now()
	if s.last != nil && now.Sub(s.last.AsOf) < systemAge {
		return s.last, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), systemTime)
	defer cancel()
	v := &service.System{
		Version: Version, Engine: s.cfg.Engine, Database: "sqlite", StartedAt: s.began.UTC(), AsOf: now.UTC(), Counted: operate.CountedWork,
		Workers: -1, Reserve: len(s.service.Degraded()) > 0,
	}
	if s.cfg.DatabaseURL != "" {
		v.Database = "postgresql"
	}
	if s.workers != nil {
		v.Workers = s.workers()
	}
	if err := s.readRows(ctx, v, now); err != nil {
		return nil, err
	}
	v.WriterLag = s.lag(ctx)
	for _, folder := range s.cfg.writtenFolders() {
		if free, total, err := disk.Free(folder); err == nil {
			v.Disks = append(v.Disks, service.SystemDisk{Folder: folder, Free: free, Total: total})
		}
	}
	for _, f := range operate.Examine(ctx, s.cfg.Settings, s.store) {
		v.Findings = append(v.Findings, service.SystemFinding{What: f.What, OK: f.OK, Detail: f.Detail, Damages: f.Damages})
	}
	s.last = v
	return v, nil
}

func (s *system) readRows(ctx context.Context, v *service.System, now time.Time) error {
	return s.store.View(ctx, func(r *store.Reader) error {
		work, err := operate.ReadWork(r, s.workers != nil, now)
		if err != nil {
			return err
		}
		n := &work.Unfinished
		v.Queued, v.Ready, v.Active, v.Parked, v.Delayed =
			n[store.StateQueued], n[store.StateReady], n[store.StateActive], n[store.StateParked], n[store.StateDelayed]
		v.OldestWaiting, v.TimersDue = work.OldestWaiting, work.TimersDue
		v.Messages, v.MessagesLate = work.Messages, work.Late(now)
		if v.Processes, err = s.processes(r, now); err != nil {
			return err
		}
		at, err := r.Meta(installation.MetaBackup)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err == nil {
			v.LastBackup, err = time.Parse(time.RFC3339, string(at))
		}
		return err
	})
}

// processes are those that work, and then those that stand by. A process that is killed, or that loses the database to
// another one, leaves its row: on a database of several it does not count when it was last seen too long ago, or before
// the standby of that name began to wait. A process on another machine may have that name, and work: it has been seen
// since, if the standby has waited for a while.
func (s *system) processes(r *store.Reader, now time.Time) (list []service.SystemProcess, err error) {
	nodes, err := r.Nodes()
	if err != nil {
		return nil, err
	}
	standbys, err := r.Standbys()
	if err != nil {
		return nil, err
	}
	since := make(map[string]int64, len(standbys))
	for _, one := range standbys {
		if one.SinceMs < now.Add(-keyring.AnnouncedWithin).UnixMilli() {
			since[one.Name] = max(since[one.Name], one.SinceMs)
		}
	}
	oldest := now.Add(-keyring.AliveTime).UnixMilli()
	for i := range nodes {
		if s.cfg.DatabaseURL != "" && nodes[i].SeenMs < max(oldest, since[store.StandbyName(nodes[i].Name)]) {
			continue
		}
		list = append(list, service.SystemProcess{Name: nodes[i].Name, SeenAt: time.UnixMilli(nodes[i].SeenMs).UTC()})
	}
	for _, one := range standbys {
		list = append(list, service.SystemProcess{Name: one.Name, SeenAt: now.UTC(), Standby: true})
	}
	return list, nil
}

// lag is how long a transaction takes that writes nothing: it waits as long as one that writes. Negative: it did not
// end in time.
func (s *system) lag(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, lagTime)
	defer cancel()
	began := time.Now()
	if err := s.store.Update(ctx, func(*store.Tx) error { return nil }); err != nil {
		return -1
	}
	return time.Since(began)
}
