//go:build docker

package container

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/machine"
)

// TestRealEngine runs against the engine that DOCKER_HOST names, with an image that has a
// shell: CHARGEHAND_TEST_IMAGE=busybox go test -tags docker -run RealEngine ./internal/activity/container
func TestRealEngine(t *testing.T) {
	image := os.Getenv("CHARGEHAND_TEST_IMAGE")
	f := newFixture(t, "", func(c *Config) {
		c.Network = "none"
		c.Limits = process.Limits{Time: 3 * time.Second, Grace: time.Second, MemoryBytes: 64 << 20, OutputBytes: 100_000}
	})
	do := func(args object) (out struct {
		text  string
		fault *machine.Fault
	}) {
		args["image"], args["pullPolicy"] = image, "never"
		got := f.do(t, args)
		out.text, _ = got.Output.(string)
		out.fault = got.Fault
		return out
	}
	for _, c := range []struct {
		args object
		want string
	}{
		{object{"command": `echo "$1 $GREETING $(id -u)"`, "arguments": []any{"$x"}, "environment": object{"GREETING": "hi"}}, "$x hi 0"},
		{object{"command": "cat", "stdin": "from stdin"}, "from stdin"},
		{object{"command": "echo plain", "arguments": []any{"words"}}, "plain words"},
		{object{"command": `cat "$1"`, "arguments": []any{object{"uri": picture}}}, "PNG"},
		{object{"command": "grep CapEff /proc/self/status || cat /proc/self/status | grep CapEff"}, "CapEff:\t0000000000000000"},
	} {
		c.args["cleanup"] = "always"
		if got := do(c.args); got.fault != nil || got.text != c.want {
			t.Errorf("%v: %q, %v; want %q", c.args, got.text, got.fault, c.want)
		}
	}
	got := f.do(t, object{"image": image, "pullPolicy": "never", "cleanup": "always", "return": "all",
		"command": `mkdir $OUT_DIR/d && echo made > $OUT_DIR/d/f.txt && ln -s /etc/passwd $OUT_DIR/l && chmod 600 $OUT_DIR/d/f.txt`})
	if got.Fault != nil || len(got.Files) != 1 || f.files.stored["d/f.txt"] != "made\n" {
		t.Errorf("files %v, %v", f.files.stored, got.Fault)
	}
	for _, c := range []struct{ command, kind, word string }{
		{"exit 3", machine.ErrRuntime, "exit code 3"},
		{"sleep 60", machine.ErrTimeout, "longer than 3s"},
		{"yes", machine.ErrRuntime, "100000 bytes"},
		{"no-such-program", machine.ErrConfiguration, "cannot be started"},
	} {
		if got := do(object{"command": c.command, "cleanup": "always"}); got.fault == nil || got.fault.Type != c.kind || !strings.Contains(got.fault.Detail, c.word) {
			t.Errorf("%s: %v", c.command, got.fault)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	f.Run(ctx, call(object{"image": image, "pullPolicy": "never", "command": "sleep 60", "name": "real-1"}))
	if got := do(object{"command": "echo again", "name": "real-1", "cleanup": "eventually", "cleanupAfterMs": 0}); got.fault != nil || got.text != "again" {
		t.Errorf("the same call again: %v", got.fault)
	}
	if _, err := f.sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if list, err := f.engineContainers(t.Context()); err != nil || list != 0 {
		t.Errorf("%d containers stay, %v", list, err)
	}
}

func (f *fixture) engineContainers(ctx context.Context) (int, error) {
	list, err := f.engine.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", labelKey)})
	return len(list.Items), err
}
