package blackbox_test

import "fmt"

// read is a way to read: path chooses anew each time.
type read struct {
	name string
	path func() string
}

// What follows are values of parameters that the seed's executions have, and some that none has.
var (
	seedNames  = []string{"orders/import", "billing/charge", "crm/sync", "mail/send", "reports/nightly", "orders/fulfil", "orders/ship", "billing/remind"}
	seedCodes  = []string{"communication_error", "timeout", "authorization_error", "validation_error", "fault", "cancelled", "there_is_none"}
	seedCauses = []string{"api", "batch", "schedule", "event", "parent", "retry"}
	seedText   = []string{"1.0.0", "1.1.0", "2.0.0", "0.9.0", "9.9.9"}
)

// filter is a filter of lists, counts and groups of failures.
type filter struct {
	name     string
	failures bool // failures can fit it
	query    func() string
}

func filters(c *choices) []filter {
	name := func() string { return "workflow=" + c.of(seedNames...) }
	status := func() string {
		return "status=" + c.of("initial", "processing", "human_in_the_loop", "finished", "error")
	}
	label := func(name, form string, n int) string { return "label=" + name + ":" + fmt.Sprintf(form, c.IntN(n)) }
	team := func() string { return label("team", "t%d", 8) }
	constant := func(text string) func() string { return func() string { return text } }
	return []filter{
		{"all", true, constant("")},
		{"status", false, status},
		{"two statuses", true, constant("status=finished&status=error")},
		{"workflow_id", true, func() string { return "workflow_id=" + c.of(c.workflows...) }},
		{"workflow", true, name},
		{"two workflows", true, func() string { return name() + "&workflow=mail/send" }},
		{"workflow and status", false, func() string { return name() + "&" + status() }},
		{"phase", false, func() string {
			return "phase=" + c.of("pending", "running", "waiting", "suspended", "cancelled", "completed")
		}},
		{"faulted", true, constant("phase=faulted")},
		{"workflow and phase", false, func() string { return "phase=cancelled&" + name() }},
		{"label that many have", true, team},
		{"label that some have", true, func() string { return label("region", "r%d", 4) }},
		{"label that few have", true, func() string { return label("customer", "c-%d", 5000) }},
		{"label of batches", true, func() string { return label("campaign", "k-%d", 300) }},
		{"label that none has", true, constant("label=team:none")},
		{"two labels", true, func() string { return team() + "&" + label("region", "r%d", 4) }},
		{"label and workflow", true, func() string { return team() + "&" + name() }},
		{"label and status", true, func() string { return team() + "&status=error" }},
		{"error code", true, func() string { return "error_code=" + c.of(seedCodes...) }},
		{"error code and workflow", true, func() string { return "error_code=timeout&" + name() }},
		{"cause", true, func() string { return "cause=" + c.of(seedCauses...) }},
		{"cause and workflow", true, func() string { return "cause=" + c.of(seedCauses...) + "&" + name() }},
		{"version", true, func() string { return "version=" + c.of(seedText...) }},
		{"version and workflow", true, func() string { return "version=" + c.of(seedText...) + "&workflow=orders/import" }},
		{"tree", true, func() string { return "root_id=" + c.of(c.roots...) }},
		{"tree that is none", true, func() string { return "root_id=" + c.of(c.executions...) }},
		{"retries", true, func() string { return "retry_of=" + c.of(c.executions...) }},
		{"batch", true, func() string { return "batch_id=" + c.of(c.batches...) }},
		{"waiting", false, func() string {
			return "waiting_for=" + c.of("timer", "slot", "event", "child", "retry", "person")
		}},
		{"at least a second", true, constant("min_duration_ms=1000")},
		{"at least 20 seconds", true, constant("min_duration_ms=20000")},
		{"at least a day", true, constant("min_duration_ms=86400000")},
		{"last digits", true, func() string { id := c.of(c.executions...); return "q=" + id[len(id)-8:] }},
		{"id", true, func() string { return "q=" + c.of(c.executions...) }},
		{"beginning of an id", true, func() string { return "q=" + c.of(c.executions...)[:12] }},
		{"id of an item", true, func() string { return fmt.Sprintf("q=row-%d", 1+c.IntN(900)) }},
		{"value of a label", true, func() string { return fmt.Sprintf("q=c-%d", c.IntN(5000)) }},
		{"text that is nowhere", true, constant("q=nothing-like-this")},
		{"created between", true, func() string { return "created_after=" + c.day(15, 31) + "&created_before=" + c.day(0, 15) }},
		{"created before", true, func() string { return "created_before=" + c.day(0, 31) }},
		{"created before and long", true, func() string { return "min_duration_ms=15000&created_before=" + c.day(0, 31) }},
		{"many", true, func() string {
			return "workflow=orders/import&status=error&version=1.0.0&min_duration_ms=100&cause=api&created_before=" + c.day(0, 31)
		}},
	}
}

// reads are all ways to read.
func reads(c *choices) (list []read) {
	add := func(name string, path func() string) { list = append(list, read{name, path}) }
	for _, f := range filters(c) {
		add("list: "+f.name, func() string { return "/executions?limit=100&" + f.query() })
		add("oldest first: "+f.name, func() string { return "/executions?limit=100&sort=created&" + f.query() })
		add("count: "+f.name, func() string { return "/executions/count?" + f.query() })
		if f.failures {
			add("failures: "+f.name, func() string { return "/executions/failures?" + f.query() })
		}
	}
	one := func(form string, from ...string) func() string {
		return func() string { return fmt.Sprintf(form, c.of(from...)) }
	}
	add("later page", one("/executions?limit=100&cursor=%s", c.cursors...))
	add("later page, looking at rows", one("/executions?limit=100&min_duration_ms=10000&cursor=%s", c.cursors...))
	add("with inputs", func() string { return "/executions?limit=100&include=input&created_before=" + c.day(0, 31) })
	add("executions of a workflow", one("/workflows/%s/executions?limit=100", c.workflows...))
	add("workflows", one("/workflows?limit=%s", "100"))
	add("workflows with activity", one("/workflows?limit=%s&include=activity", "100"))
	add("workflow", one("/workflows/%s", c.workflows...))
	add("batches", one("/batches?limit=%s", "100"))
	add("batches with a label", func() string { return fmt.Sprintf("/batches?limit=100&label=campaign:k-%d", c.IntN(300)) })
	add("batches of a workflow", one("/workflows/%s/batch?limit=10", c.workflows...))
	add("batch", one("/batches/%s", c.batches...))
	for _, days := range []float64{1, 7, 30, 90, 399} {
		add(fmt.Sprintf("overview of %v days", days), func() string { return "/overview?from=" + c.day(days, days) })
	}
	add("overview of a workflow", func() string { return "/overview?from=" + c.day(1, 31) + "&workflow_id=" + c.of(c.workflows...) })
	for _, part := range []string{"", "/timeline", "/timeline?fields=summary", "/progress", "/graph"} {
		add("execution"+part, one("/executions/%s"+part, c.executions...))
	}
	return list
}
