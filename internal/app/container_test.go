package app

import (
	"fmt"
	"testing"

	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/peer/docker"
)

// What the language can say of a container reaches the engine, as far as the operator allows it.
func TestContainerIsAsTheTaskAndTheOperatorSay(t *testing.T) {
	e := docker.Start(t, map[string]docker.Program{"tool": func(*docker.Process) int { return 0 }})
	t.Setenv("DOCKER_HOST", e.Host)
	i := install(t, t.TempDir(), func(c *Config) {
		c.AllowRun, c.ContainerVolumes, c.ContainerCapabilities = []string{"container"}, []string{"/srv/data:ro"}, []string{"CHOWN"}
	})
	id := i.Apply(apptest.Definition("contained", `
      run:
        container:
          image: box:1
          command: tool
          environment: { GREETING: hello }
          ports: { 8080: 80 }
          volumes: { /srv/data: /data, cache: /cache }
          lifetime: { cleanup: never }
        return: code`))
	_, x := i.Ask("POST", "/workflows/"+id+"/executions?wait=20s", "application/json", "{}")
	if x["status"] != "finished" || fmt.Sprint(x["output"]) != "0" {
		t.Fatalf("execution %v", x)
	}
	made := e.Last(t)
	if got := fmt.Sprint(made.Host.CapAdd, made.Host.CapDrop); got != "[CAP_CHOWN] [ALL]" {
		t.Errorf("capabilities %s", got)
	}
	if got := fmt.Sprint(made.Host.PortBindings); got != "map[80/tcp:[{127.0.0.1 8080}]]" {
		t.Errorf("ports %s", got)
	}
	if m := made.Host.Mounts; len(m) != 2 || m[0].Source != "/srv/data" || !m[0].ReadOnly || m[1].Target != "/cache" {
		t.Errorf("volumes %+v", m)
	}
	other := i.Apply(apptest.Definition("other", "{run: {container: {image: 'box:1', command: tool, volumes: {/srv: /data}}}}"))
	if _, x := i.Ask("POST", "/workflows/"+other+"/executions?wait=20s", "application/json", "{}"); x["status"] != "error" {
		t.Errorf("a path that is not listed: %v", x)
	}
}
