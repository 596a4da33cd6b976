package api

import (
	"context"
	"net/http"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// The answer.
type (
	system struct {
		OK          bool             `json:"ok" doc:"Nothing that was looked at is wrong."`
		Version     string           `json:"version" doc:"Version of the server."`
		Engine      string           `json:"engine" enum:"embedded,temporal" doc:"What drives the executions."`
		Database    string           `json:"database" enum:"sqlite,postgresql" doc:"Where the rows are."`
		StartedAt   moment           `json:"started_at" doc:"When this process began to work on the installation."`
		AsOf        moment           `json:"as_of" doc:"When this was read, at most five seconds ago."`
		WriterLagMs *int64           `json:"writer_lag_ms,omitempty" minimum:"0" doc:"How long a transaction takes that writes nothing: as long as others wait for the writer. Left out: it did not end within two seconds."`
		Executions  systemExecutions `json:"executions" doc:"Executions of all accounts and environments that have not ended."`
		OldestReady moment           `json:"oldest_ready_at,omitempty" doc:"When the oldest execution was created that waits for a slot; left out: none does."`
		TimersDue   int64            `json:"timers_due" minimum:"0" doc:"Timers that are due and have not fired, 10,000 at most; of the embedded engine."`
		Outbox      *systemOutbox    `json:"outbox,omitempty" doc:"Messages on their way to Temporal; left out with the embedded engine."`
		Workers     *int64           `json:"workers,omitempty" minimum:"0" doc:"Workers that asked Temporal for work lately; left out with the embedded engine, and where it is not known."`
		Processes   []systemProcess  `json:"processes" nullable:"false" doc:"Servers and workers of the installation, the one that was seen last first, then the standbys. On PostgreSQL, one that was not seen for three minutes is left out."`
		Disks       []systemDisk     `json:"disks" nullable:"false" doc:"Disks that this process writes to."`
		Reserve     bool             `json:"storage_reserve" doc:"A disk has less free space than its reserve: new executions and uploads are refused."`
		LastBackup  moment           `json:"last_backup_at,omitempty" doc:"When chargehand backup last made a backup; left out: never, or it is not known, as with PostgreSQL."`
		Findings    []systemFinding  `json:"findings" nullable:"false" doc:"What chargehand doctor finds, as far as it does not take longer with more executions."`
	}
	systemExecutions struct {
		Queued  int64 `json:"queued" minimum:"0" doc:"Wait for their first slot."`
		Ready   int64 `json:"ready" minimum:"0" doc:"Have waited for something that has come, and wait for a slot."`
		Active  int64 `json:"active" minimum:"0" doc:"Hold a slot."`
		Parked  int64 `json:"parked" minimum:"0" doc:"Wait for a timer, an event, another execution or a person."`
		Delayed int64 `json:"delayed" minimum:"0" doc:"Do not start yet, because that was asked for."`
		AtLeast bool  `json:"at_least" doc:"There may be more: of each kind, 10,000 are counted at most."`
	}
	systemOutbox struct {
		Messages int64 `json:"messages" minimum:"0" doc:"How many there are, 10,000 at most."`
		LateMs   int64 `json:"late_ms" minimum:"0" doc:"How long the message that is due first waits for its delivery."`
	}
	systemProcess struct {
		Name    string `json:"name" doc:"Its host and process."`
		SeenAt  moment `json:"seen_at" doc:"When it last reported; of a standby, when this was read."`
		Standby bool   `json:"standby,omitempty" doc:"It waits to take over; left out: it works."`
	}
	systemDisk struct {
		Folder string `json:"folder" doc:"A folder on it."`
		Free   uint64 `json:"free_bytes" doc:"Free space for the server."`
		Total  uint64 `json:"total_bytes" doc:"Its size."`
	}
	systemFinding struct {
		What    string   `json:"what" doc:"What was looked at."`
		OK      bool     `json:"ok" doc:"It is as it should be."`
		Detail  string   `json:"detail" doc:"What was found."`
		Damages []string `json:"damages,omitempty" nullable:"false" doc:"All that is wrong, where that may be several things."`
	}
)

func (c *call) getSystem() error {
	if err := service.RequireWhole(c.principal); err != nil {
		return err
	}
	if err := c.server.service.RequireOperator(c.r.Context(), c.principal); err != nil {
		return err
	}
	if c.server.system == nil {
		return &chargehand.Error{Code: chargehand.CodeUnavailable, Detail: "This process does not know the state of the installation.", RetryAfter: 1}
	}
	report, err := c.server.system(c.r.Context())
	if err != nil {
		return err
	}
	return c.view(http.StatusOK, viewSystem(report))
}

// systemOf is how a server asks for the state of the installation.
type systemOf func(ctx context.Context) (*service.System, error)

func viewSystem(r *service.System) system {
	v := system{
		OK: r.WriterLag >= 0 && !r.Reserve, Version: r.Version, Engine: r.Engine, Database: r.Database, StartedAt: at(r.StartedAt), AsOf: at(r.AsOf),
		Executions: systemExecutions{
			Queued: r.Queued, Ready: r.Ready, Active: r.Active, Parked: r.Parked, Delayed: r.Delayed,
			AtLeast: max(r.Queued, r.Ready, r.Active, r.Parked, r.Delayed) >= r.Counted,
		},
		OldestReady: at(r.OldestWaiting), TimersDue: r.TimersDue, Processes: make([]systemProcess, len(r.Processes)), Disks: make([]systemDisk, len(r.Disks)),
		Reserve: r.Reserve, LastBackup: at(r.LastBackup), Findings: make([]systemFinding, len(r.Findings)),
	}
	if r.WriterLag >= 0 {
		ms := r.WriterLag.Milliseconds()
		v.WriterLagMs = &ms
	}
	if r.Engine == "temporal" {
		v.Outbox = &systemOutbox{r.Messages, r.MessagesLate.Milliseconds()}
		if r.Workers >= 0 {
			v.Workers = &r.Workers
		}
	}
	for i, p := range r.Processes {
		v.Processes[i] = systemProcess{p.Name, at(p.SeenAt), p.Standby}
	}
	for i, d := range r.Disks {
		v.Disks[i] = systemDisk(d)
	}
	for i, f := range r.Findings {
		v.Findings[i] = systemFinding(f)
		v.OK = v.OK && f.OK
	}
	return v
}
