package container

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// The values of pullPolicy and of lifetime.cleanup.
const (
	pullIfNotPresent  = "ifNotPresent"
	pullAlways        = "always"
	pullNever         = "never"
	cleanupNever      = "never"
	cleanupAlways     = "always"
	cleanupEventually = "eventually"
)

// Labels of our containers.
const (
	labelKey      = "io.chargehand.key"
	labelAccount  = "io.chargehand.account"
	labelEnv      = "io.chargehand.environment"
	labelRun      = "io.chargehand.execution"
	labelTask     = "io.chargehand.task"
	labelCleanup  = "io.chargehand.cleanup"
	labelAfter    = "io.chargehand.cleanup-after-ms"
	labelDeadline = "io.chargehand.deadline-ms" // Unix time after which no call waits for the container
)

// mountPoint holds IN_DIR and OUT_DIR in a container.
const mountPoint = "/chargehand"

const (
	maxPorts   = 64
	maxVolumes = 64
)

// spec is a container to run.
type spec struct {
	create  client.ContainerCreateOptions
	key     string
	pull    string
	cleanup string
	stdin   []byte

	stdoutCopy, stderrCopy io.Writer // take what the container writes, as it comes; nil: nothing does
}

func (r *Runner) spec(call activity.Call, args map[string]any, w *workspace.Workspace) (*spec, *machine.Fault) {
	image, _ := args["image"].(string)
	if strings.TrimSpace(image) == "" {
		return nil, configuration("image must name an image")
	}
	cleanup, after, fault := cleanupOf(args)
	if fault != nil {
		return nil, fault
	}
	s := &spec{key: call.Key, cleanup: cleanup, stdin: []byte(w.Text(args["stdin"]))}
	s.stdoutCopy, s.stderrCopy = call.Writer(chargehand.LogStdout), call.Writer(chargehand.LogStderr)
	switch s.pull, _ = args["pullPolicy"].(string); s.pull {
	case "":
		s.pull = pullIfNotPresent
	case pullIfNotPresent, pullAlways, pullNever:
	default:
		return nil, configuration(fmt.Sprintf("pullPolicy %q is not one of ifNotPresent, always and never", excerpt.Clip(strings.TrimSpace(s.pull), clipBytes)))
	}
	entrypoint, command, fault := processOf(args, w)
	if fault != nil {
		return nil, fault
	}
	environment, fault := environOf(args["environment"], w)
	if fault != nil {
		return nil, fault
	}
	exposed, published, fault := r.portsOf(args["ports"])
	if fault != nil {
		return nil, fault
	}
	mounts, fault := r.mountsOf(call, args["volumes"])
	if fault != nil {
		return nil, fault
	}
	name, _, fault := textOf(args, "name", "the engine's name for the container is made of the workflow's")
	if fault != nil {
		return nil, fault
	}
	processes := int64(r.cfg.Limits.Processes)
	grace := graceSeconds(r.cfg.Limits.Grace)
	s.create = client.ContainerCreateOptions{
		Name: nameOf(name, args["workflow"], call),
		Config: &container.Config{
			Image: image, Entrypoint: entrypoint, Cmd: command, Env: environment, ExposedPorts: exposed, StopTimeout: &grace,
			AttachStdout: true, AttachStderr: true, AttachStdin: len(s.stdin) > 0, OpenStdin: len(s.stdin) > 0, StdinOnce: len(s.stdin) > 0,
			Labels: r.labels(call, cleanup, after),
		},
		HostConfig: &container.HostConfig{
			CapDrop: []string{"ALL"}, CapAdd: r.cfg.Capabilities, SecurityOpt: []string{"no-new-privileges"},
			NetworkMode: container.NetworkMode(r.cfg.Network), PortBindings: published, Mounts: mounts,
			RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
			Resources: container.Resources{
				Memory: r.cfg.Limits.MemoryBytes, MemorySwap: r.cfg.Limits.MemoryBytes, PidsLimit: &processes,
			},
		},
	}
	return s, nil
}

func (r *Runner) labels(call activity.Call, cleanup string, after time.Duration) map[string]string {
	c := r.cfg
	// all that a run may take
	deadline := c.Now().Add(c.PullTime + 4*c.PrepareTime + 2*c.CopyTime + c.Limits.Time + c.Limits.Grace)
	return map[string]string{
		labelKey: call.Key, labelAccount: call.Account.String(), labelEnv: call.Environment.String(),
		labelRun: call.Execution.String(), labelTask: call.Reference, labelCleanup: cleanup,
		labelAfter: strconv.FormatInt(after.Milliseconds(), 10), labelDeadline: strconv.FormatInt(deadline.UnixMilli(), 10),
	}
}

func cleanupOf(args map[string]any) (string, time.Duration, *machine.Fault) {
	cleanup, _ := args["cleanup"].(string)
	switch cleanup {
	case "":
		return cleanupNever, 0, nil
	case cleanupNever, cleanupAlways:
		return cleanup, 0, nil
	case cleanupEventually:
		ms, ok := args["cleanupAfterMs"].(int)
		if !ok || ms < 0 {
			return "", 0, configuration("cleanup: eventually needs the time after which the container is removed")
		}
		return cleanup, time.Duration(min(ms, int(maxAfter.Milliseconds()))) * time.Millisecond, nil
	}
	return "", 0, configuration(fmt.Sprintf("cleanup %q is not one of never, always and eventually", excerpt.Clip(strings.TrimSpace(cleanup), clipBytes)))
}

// maxAfter keeps the time of a removal within what a label and a duration can hold.
const maxAfter = 10 * 365 * 24 * time.Hour

// processOf is what runs in the container, by the rules of the package.
func processOf(args map[string]any, w *workspace.Workspace) (entrypoint, command []string, fault *machine.Fault) {
	argv, fault := w.Arguments(args["arguments"], nil)
	if fault != nil {
		return nil, nil, fault
	}
	script, given, fault := textOf(args, "command", "the image's own runs")
	if fault != nil || !given {
		return nil, argv, fault
	}
	if fault := workspace.CheckNUL("the command", script); fault != nil {
		return nil, nil, fault
	}
	if words := plainWords(script); words != nil {
		return words[:1], slices.Concat(words[1:], argv), nil
	}
	return []string{"/bin/sh"}, slices.Concat([]string{"-c", script, "sh"}, argv), nil
}

// textOf is an argument that may be left out but, if it is given, must say something: otherwise
// the container would quietly do what the author did not ask for.
func textOf(args map[string]any, name, without string) (text string, given bool, fault *machine.Fault) {
	v, given := args[name]
	text, isText := v.(string)
	if given && (!isText || strings.TrimSpace(text) == "") {
		return "", true, configuration(fmt.Sprintf("%s is %s, not a text that says something; where it is left out, %s", name, excerpt.Clip(strings.TrimSpace(string(value.Marshal(v))), clipBytes), without))
	}
	return text, given, nil
}

// plainWords splits a command in which nothing means anything to a shell; nil: something does.
func plainWords(script string) []string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f || strings.ContainsRune("_-+./:,@% \t", r)
	}
	trimmed := strings.TrimSpace(script)
	if strings.ContainsFunc(trimmed, func(r rune) bool { return !plain(r) }) {
		return nil
	}
	words := strings.Fields(trimmed)
	if builtins[words[0]] {
		return nil
	}
	return words
}

// builtins are plain words that only a shell knows, or that only make sense in one.
var builtins = map[string]bool{".": true, ":": true, "cd": true, "exit": true, "export": true, "set": true, "exec": true, "eval": true,
	"source": true, "umask": true, "ulimit": true, "wait": true, "command": true, "type": true, "read": true, "if": true, "while": true}

func environOf(v value.Value, w *workspace.Workspace) ([]string, *machine.Fault) {
	variables, fault := w.Variables(v)
	if fault != nil {
		return nil, fault
	}
	all := map[string]string{"IN_DIR": w.In, "OUT_DIR": w.Out}
	maps.Copy(all, variables)
	environ := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		environ = append(environ, name+"="+all[name])
	}
	return environ, nil
}

// portsOf reads {port of the host: port of the container}; both may end with /udp or /tcp.
func (r *Runner) portsOf(v value.Value) (network.PortSet, network.PortMap, *machine.Fault) {
	ports, fault := mapOf("ports", v, maxPorts)
	if fault != nil || len(ports) == 0 {
		return nil, nil, fault
	}
	exposed, published := network.PortSet{}, network.PortMap{}
	for _, key := range slices.Sorted(maps.Keys(ports)) {
		text, ok := ports[key].(string)
		if number, isNumber := ports[key].(int); isNumber {
			text, ok = strconv.Itoa(number), true
		}
		inside, err := network.ParsePort(text)
		outside, protocol, _ := strings.Cut(key, "/")
		number, hostErr := strconv.ParseUint(outside, 10, 16)
		if !ok || err != nil || hostErr != nil || number == 0 || inside.Num() == 0 || protocol != "" && protocol != string(inside.Proto()) {
			return nil, nil, configuration(fmt.Sprintf("ports: %q: %s is not a port of the host with the port of the container, such as 8080: 80",
				excerpt.Clip(strings.TrimSpace(key), clipBytes), excerpt.Clip(strings.TrimSpace(string(value.Marshal(ports[key]))), clipBytes)))
		}
		exposed[inside] = struct{}{}
		published[inside] = append(published[inside], network.PortBinding{HostIP: r.cfg.PublishAddress, HostPort: outside})
	}
	return exposed, published, nil
}

// mountsOf reads {volume or path of the host: path in the container}, which may end with :ro.
func (r *Runner) mountsOf(call activity.Call, v value.Value) ([]mount.Mount, *machine.Fault) {
	volumes, fault := mapOf("volumes", v, maxVolumes)
	if fault != nil {
		return nil, fault
	}
	var mounts []mount.Mount
	for _, source := range slices.Sorted(maps.Keys(volumes)) {
		text, _ := volumes[source].(string)
		target, readOnly := hostPath(text)
		if !cleanAbsolute(target) || target == "/" || target == mountPoint || strings.HasPrefix(target, mountPoint+"/") {
			return nil, configuration(fmt.Sprintf("volumes: %q: %q is no absolute path below / and outside %s", excerpt.Clip(strings.TrimSpace(source), clipBytes), excerpt.Clip(strings.TrimSpace(text), clipBytes), mountPoint))
		}
		m := mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly}
		switch {
		case strings.HasPrefix(source, "/"):
			writable, allowed := r.hostVolume(source)
			if !allowed {
				return nil, configuration(fmt.Sprintf("volumes: the host path %q is not among those that the operator of the server allows; "+
					"use the name of a volume, or have exactly this path allowed (--container-volume)", excerpt.Clip(strings.TrimSpace(source), clipBytes)))
			}
			m.ReadOnly = m.ReadOnly || !writable
		case isName(source):
			m.Type, m.Source = mount.TypeVolume, volumeName(call, source)
			m.VolumeOptions = &mount.VolumeOptions{Labels: map[string]string{labelAccount: call.Account.String(), labelEnv: call.Environment.String()}}
		default:
			return nil, configuration(fmt.Sprintf("volumes: %q is neither an absolute path nor a name of letters, digits, _ . and -", excerpt.Clip(strings.TrimSpace(source), clipBytes)))
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// hostVolume reports whether the operator allows a path of the host.
func (r *Runner) hostVolume(source string) (writable, allowed bool) {
	for _, entry := range r.cfg.Volumes {
		if path, readOnly := hostPath(entry); path == source {
			return !readOnly, true
		}
	}
	return false, false
}

// hostPath splits PATH:ro and PATH:rw.
func hostPath(entry string) (path string, readOnly bool) {
	if path, found := strings.CutSuffix(entry, ":ro"); found {
		return path, true
	}
	return strings.TrimSuffix(entry, ":rw"), false
}

func cleanAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") && path.Clean(p) == p && !strings.ContainsAny(p, "\x00:")
}

// volumeName keeps the volumes of accounts and environments apart: names of volumes are those
// of the whole engine.
func volumeName(call activity.Call, name string) string {
	return "chargehand-" + digest(call.Account.String(), call.Environment.String()) + "-" + name
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

const maxNameBytes = 200

// nameNamespace is that of the UUIDs in default names (version 5).
var nameNamespace = uuid.MustParse("a3f2b6a4-3c39-5d0c-8b0b-5a4f3b0f6c1e")

// nameOf is the container's name: as given, or {workflow.name}-{uuid}.{workflow.namespace}-{task.name}
// with a UUID that is made of the call's key, so that every run of it has the same. What an
// engine does not take is replaced.
func nameOf(name string, workflow value.Value, call activity.Call) string {
	if name == "" {
		of, _ := workflow.(map[string]any)
		task := call.Reference[strings.LastIndex(call.Reference, "/")+1:]
		name = fmt.Sprintf("%v-%s.%v-%s", of["name"], uuid.NewSHA1(nameNamespace, []byte(call.Key)), of["namespace"], task)
	}
	safe := strings.Map(func(r rune) rune {
		if isNameByte(r) {
			return r
		}
		return '-'
	}, name)
	safe = strings.TrimLeft(safe, "_.-")
	if len(safe) < 2 { // an engine wants two characters
		safe = "chargehand-" + digest(call.Key) + safe
	}
	return safe[:min(len(safe), maxNameBytes)]
}

func isName(name string) bool {
	return len(name) <= maxNameBytes && name != "" && !strings.ContainsRune("_.-", rune(name[0])) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !isNameByte(r) })
}

func isNameByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-'
}

func mapOf(what string, v value.Value, most int) (map[string]any, *machine.Fault) {
	if v == nil {
		return nil, nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, configuration(what + " must be an object")
	}
	if len(object) > most {
		return nil, configuration(fmt.Sprintf("%s has %d entries; at most %d are possible", what, len(object), most))
	}
	return object, nil
}

func graceSeconds(grace time.Duration) int { return int((grace + time.Second - 1) / time.Second) }
