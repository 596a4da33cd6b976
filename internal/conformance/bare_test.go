package conformance

import (
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// What a server does without what the other scenarios take for granted: it allows no
// processes (T80), or it has no container engine.
func TestConformanceBareServers(t *testing.T) {
	const paint = "document: { dsl: '1.0.3', namespace: bare, name: paint, version: '1.0.0' }\n" +
		"do:\n  - paint: { run: { container: { image: 'box:1', command: show } } }\n"
	outside := newStandIn(t)

	t.Run("nothing is allowed", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, binary{servertest.Start(t, servertest.Options{Args: outside.flags()})}, outside)
		must(t, s.refuse(paint))
		must(t, s.refused("run_not_allowed", "/do/0/paint/run/container"))
		must(t, s.refuse("document: { dsl: '1.0.3', namespace: bare, name: tools, version: '1.0.0' }\n"+
			"do:\n  - ask: { call: mcp, with: { method: tools/list, transport: { stdio: { command: "+toolServer+" } } } }\n"))
		must(t, s.refused("run_not_allowed", "/do/0/ask/with/transport/stdio"))
	})

	t.Run("there is no engine", func(t *testing.T) {
		t.Parallel()
		s := newScenario(t, binary{servertest.Start(t, servertest.Options{
			Args: append(outside.flags(), "--allow-run", "container"), Env: []string{"DOCKER_HOST=unix:///nowhere/engine.sock"},
		})}, outside)
		must(t, s.deploy(paint))
		must(t, s.execute())
		must(t, s.faultsWith(`{ type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration, status: 400,
			instance: /do/0/paint, detail: 'no container engine at unix:///nowhere/engine.sock' }`, false))
	})

	// A definition that was accepted once, and a server that allows less now.
	t.Run("it was allowed once", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		before := servertest.Start(t, servertest.Options{DataDir: dir, Args: append(outside.flags(), "--allow-run", "container")})
		s := newScenario(t, binary{before}, outside)
		must(t, s.deploy(paint))
		before.Stop()
		s.host = binary{servertest.Start(t, servertest.Options{DataDir: dir, Args: outside.flags()})}
		must(t, s.execute())
		must(t, s.faultsWith(`{ type: https://open-workflow-specification.org/spec/1.0.0/errors/configuration, status: 400,
			instance: /do/0/paint, detail: '--allow-run container' }`, false))
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
