package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/engine/temporal"
	"github.com/chargehand/chargehand/internal/runlog"
)

// registerProcess shows the Go runtime and the process.
func registerProcess(registry *prometheus.Registry) {
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// registerEmbedded shows the counters of the embedded engine.
func registerEmbedded(registry prometheus.Registerer, e *embedded.Engine) {
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "chargehand", Name: "owner", Help: "1: the database is this process's own. A standby answers 503 instead.",
	}, func() float64 { return 1 }))
	counter := func(name, help string, value func(embedded.Stats) int64) {
		registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Namespace: "chargehand", Name: name, Help: help},
			func() float64 { return float64(value(e.Stats())) }))
	}
	gauge := func(name, help string, value func(embedded.Stats) int64) {
		registry.MustRegister(prometheus.NewGaugeFunc(
			prometheus.GaugeOpts{Namespace: "chargehand", Name: name, Help: help},
			func() float64 { return float64(value(e.Stats())) }))
	}
	counter("executions_started_total", "Executions that were accepted.", func(s embedded.Stats) int64 { return s.Started })
	counter("executions_finished_total", "Executions that completed.", func(s embedded.Stats) int64 { return s.Finished })
	counter("executions_failed_total", "Executions that ended in error.", func(s embedded.Stats) int64 { return s.Failed })
	counter("executions_refused_total", "Executions that were refused because a queue was full.", func(s embedded.Stats) int64 { return s.Refused })
	counter("activities_total", "Activities that were started.", func(s embedded.Stats) int64 { return s.Activities })
	counter("interruptions_total", "Activities that a crash or a stop cut off.", func(s embedded.Stats) int64 { return s.Interruptions })
	gauge("executions_in_memory", "Executions that are held in memory now.", func(s embedded.Stats) int64 { return int64(s.InMemory) })
	gauge("calls_running", "Outgoing calls under way.", func(s embedded.Stats) int64 { return int64(s.CallsRunning) })
	gauge("streams_running", "Subscriptions of call: asyncapi that are open.", func(s embedded.Stats) int64 { return int64(s.StreamsRunning) })
	gauge("processes_running", "Processes of steps under way.", func(s embedded.Stats) int64 { return int64(s.ProcessesRunning) })
	gauge("scripts_running", "Scripts in JavaScript under way.", func(s embedded.Stats) int64 { return int64(s.ScriptsRunning) })
}

// registerTemporal shows the counters of this node's part of the Temporal engine.
func registerTemporal(registry prometheus.Registerer, e *temporal.Engine) {
	counter := func(name, help string, value func(temporal.Stats) int64) {
		registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Namespace: "chargehand", Name: name, Help: help},
			func() float64 { return float64(value(e.Stats())) }))
	}
	counter("executions_accepted_total", "Executions that were accepted by this process.", func(s temporal.Stats) int64 { return s.Accepted })
	counter("executions_refused_total", "Executions that could not be accepted by this process.", func(s temporal.Stats) int64 { return s.Refused })
	counter("executions_dispatched_total", "Executions that this process gave a slot.", func(s temporal.Stats) int64 { return s.Marked })
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "chargehand", Name: "workers", Help: "Workers of the installation that asked Temporal for work lately; -1: not known.",
	}, func() float64 { return float64(e.Stats().Workers) }))
	counter("messages_delivered_total", "Messages that this process delivered to Temporal.", func(s temporal.Stats) int64 { return s.Delivered })
}

// registerLogs shows the counters of the logs of executions that this process writes.
func registerLogs(registry prometheus.Registerer, w *runlog.Writer) {
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "chargehand", Name: "execution_log_waiting_bytes", Help: "Bytes of logs of executions that wait to be written.",
		}, func() float64 { return float64(w.Stats().Pending) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Namespace: "chargehand", Name: "execution_log_dropped_bytes_total", Help: "Bytes of logs of executions that found no room, or no store.",
		}, func() float64 { return float64(w.Stats().Dropped) }),
	)
}
