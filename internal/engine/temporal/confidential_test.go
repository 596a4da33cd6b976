package temporal

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const secretText = "correct horse battery staple"

// keep stores a secret as the API does.
func (e *installation) keep(name string, version int64, v value.Value) {
	e.t.Helper()
	location := secret.Location{Account: e.account.No, Environment: uint8(chargehand.Live), Name: name, Version: version}
	s := store.Secret{Account: e.account.No, Environment: chargehand.Live, Name: name, Version: version, Sealed: e.sealer.Seal(location, value.Append(nil, v))}
	e.update(func(tx *store.Tx) error { return tx.PutSecret(&s) })
}

// TestSecrets: the values of secrets reach activities and the machine, and nothing else: neither Temporal nor
// rows hold them in the open, also across runs, and what is shown lacks them.
func TestSecrets(t *testing.T) {
	t.Parallel()
	p := defaultLimits()
	p.runSlices = 1
	e := newInstallation(t, p)
	e.keep("token", 1, map[string]any{"value": secretText})
	seen := make(chan value.Value, 10)
	def := `
use: {secrets: [token]}
do:
  - a: {call: http, with: {method: get, endpoint: 'https://example.org/', headers: {token: '${ $secrets.token.value }'}}}
  - many: {for: {in: '[range(3500)]'}, do: [{s: {set: '${ . }'}}]}
  - w: {wait: {milliseconds: 20}}
  - b: {emit: {event: {with: {type: told, data: '${ {said: $secrets.token.value} }'}}}}
  - c: {call: http, with: {method: get, endpoint: 'https://example.org/', headers: {token: '${ $secrets.token.value }'}}}
  - d: {set: '${ {token: $secrets.token.value, got: .data} }'}
`
	outside := func(_ context.Context, c runner.Call) runner.Result {
		headers := c.Args.(map[string]any)["headers"].(map[string]any)
		seen <- headers["token"]
		if strings.HasSuffix(c.Reference, "/a") {
			e.keep("token", 2, map[string]any{"value": "another one"}) // what was pinned stays
		}
		return runner.Result{Output: map[string]any{"echo": headers["token"]}}
	}
	a := e.start(parse(t, def), map[string]any{"n": 1}, outside)
	e.ended(a)
	e.end(a)
	got := e.result(a, nil)
	if got.Phase != chargehand.Completed || len(seen) != 2 || <-seen != secretText || <-seen != secretText {
		t.Fatalf("it ended %s, fault %+v", got.Phase, got.Fault)
	}
	shown := value.Marshal(got.Output)
	for _, v := range got.Published {
		shown = value.Append(shown, v)
	}
	if len(got.Published) != 1 || !bytes.Contains(shown, []byte("[redacted]")) {
		t.Errorf("shown is %s", shown)
	}
	timeline, err := e.engine.Timeline(t.Context(), a.No)
	if err != nil || len(timeline.Records) != 6+3500 {
		t.Fatalf("the timeline has %d entries, %v", len(timeline.Records), err)
	}
	for i := range timeline.Records {
		input, output, err := timeline.Values(t.Context(), &timeline.Records[i])
		if err != nil {
			t.Fatal(err)
		}
		shown = append(append(shown, input...), output...)
	}
	runs := e.histories(a)
	if len(runs) < 2 {
		t.Errorf("there was one run")
	}
	sealed := 0
	for i, h := range runs {
		data, err := proto.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, data...)
		sealed += bytes.Count(data, []byte(sealedEncoding))
		if err := e.replay(h); err != nil {
			t.Errorf("replay run %d: %v", i+1, err)
		}
	}
	e.workerFixture.mu.Lock()
	for _, content := range e.blobs {
		shown = append(shown, content...)
	}
	e.workerFixture.mu.Unlock()
	e.view(func(r *store.Reader) error {
		chunks, err := r.TimelineChunks(a.No)
		for _, c := range chunks {
			shown = append(shown, c...)
		}
		if len(chunks) == 0 {
			t.Error("no chunk was stored")
		}
		return err
	})
	for _, form := range []string{secretText, base64.StdEncoding.EncodeToString([]byte(secretText))} {
		if at := bytes.Index(shown, []byte(form)); at >= 0 {
			t.Errorf("the secret is seen: %q", shown[max(0, at-200):at+40])
		}
	}
	if sealed < 5 {
		t.Errorf("%d payloads are sealed", sealed)
	}
}

// A secret that the environment does not have faults the execution (T75); with too many of them it never begins.
func TestSecretsThatAreNotThere(t *testing.T) {
	t.Parallel()
	e := newInstallation(t, defaultLimits())
	a := e.start(parse(t, "use: {secrets: [absent]}\ndo: [{a: {set: {x: 1}}}]"), 1, nil)
	e.ended(a)
	if got := e.result(a, nil); got.Fault == nil || got.Fault.Status != 403 || got.Fault.Type != machine.ErrAuthorization {
		t.Errorf("it ended %s, %+v", got.Phase, got.Fault)
	}
	e.keep("big", 1, strings.Repeat("x", 1<<20+1))
	a = e.start(parse(t, "use: {secrets: [big]}\ndo: [{a: {set: {x: 1}}}]"), 1, nil)
	e.ended(a)
	wantFault(t, e.workerFixture, a, "secrets_too_large")
}

// What is sealed for one execution does not open as another's, nor without the key.
func TestSealing(t *testing.T) {
	t.Parallel()
	c := newConverter(secret.NewSealer(secret.NewKeys()))
	a := call{Execution: chargehand.ExecutionID{1}, Args: []byte(`"` + secretText + `"`), Confidential: true}
	payload, err := c.ToPayload(a)
	if err != nil || bytes.Contains(payload.Data, []byte(secretText)) {
		t.Fatalf("%v, %s", err, payload)
	}
	var back call
	if err := c.FromPayload(payload, &back); err != nil || string(back.Args) != string(a.Args) {
		t.Errorf("%+v, %v", back, err)
	}
	if err := newConverter(nil).FromPayload(payload, &back); err == nil {
		t.Error("it opens without a key")
	}
	if _, err := newConverter(nil).ToPayload(a); err == nil {
		t.Error("without a key it is not sealed")
	}
	payload.Metadata[executionKey] = []byte(chargehand.ExecutionID{2}.String())
	if err := c.FromPayload(payload, &back); err == nil {
		t.Error("it opens as another execution's")
	}
	a.Confidential = false
	if payload, err = c.ToPayload(a); err != nil || !bytes.Contains(payload.Data, []byte(secretText)) {
		t.Errorf("what is not confidential is sealed: %v, %s", err, payload)
	}
}

// seenPayloads is a converter that keeps what it writes.
type seenPayloads struct {
	converter.DataConverter
	data *[]byte
}

func (s seenPayloads) ToPayloads(values ...any) (*commonpb.Payloads, error) {
	list, err := s.DataConverter.ToPayloads(values...)
	for _, p := range list.GetPayloads() {
		*s.data = append(*s.data, p.GetData()...)
	}
	return list, err
}

// What is wrong with a confidential call that cannot be read stays out of the history, and so does what the reader
// quotes of it.
func TestUnreadableConfidentialCall(t *testing.T) {
	t.Parallel()
	keys := secret.NewKeys()
	o := newWorkerFixture(t)
	a := o.activities(nil)
	for _, part := range []string{"args", "input", "metadata"} {
		for _, confidential := range []bool{true, false} {
			c := call{Execution: chargehand.ExecutionID{1}, Kind: "http", Args: []byte("{}"), Input: []byte("1"), Confidential: confidential}
			*map[string]*json.RawMessage{"args": &c.Args, "input": &c.Input, "metadata": &c.Metadata}[part] = []byte("-1e99999")
			var written []byte
			s := quiet()
			env := s.NewTestActivityEnvironment()
			env.SetDataConverter(seenPayloads{newConverter(secret.NewSealer(keys)), &written})
			env.RegisterActivity(a.perform)
			result, err := env.ExecuteActivity(a.perform, c)
			var got outcome
			if err != nil || result.Get(&got) != nil || got.Fault == nil || got.Fault.Code != engine.CodeInternal {
				t.Fatalf("%s: %+v, %v", part, got, err)
			}
			reason := strings.Contains(got.Fault.Detail, "number")
			open := bytes.Contains(written, []byte("cannot be read"))
			if reason == confidential || open == confidential {
				t.Errorf("%s, confidential %t: %q, in the open: %t", part, confidential, got.Fault.Detail, open)
			}
		}
	}
}

// TestSealingAll: with everything sealed, no payload and no text of a failure is in the open, and what was written
// before, or is sealed for its execution, is read.
func TestSealingAll(t *testing.T) {
	t.Parallel()
	keys := secret.NewKeys()
	off, on := secret.NewSealer(keys), secret.NewSealer(keys)
	on.SealAll()
	c := newConverter(on)
	a := call{Execution: chargehand.ExecutionID{1}, Args: []byte(`"` + secretText + `"`)}
	confidential := a
	confidential.Confidential = true
	for name, value := range map[string]any{"call": a, "confidential call": confidential, "text": secretText, "bytes": []byte(secretText)} {
		list, err := c.ToPayloads(value)
		if err != nil {
			t.Fatal(err)
		}
		written, err := proto.Marshal(list)
		if err != nil || bytes.Contains(written, []byte(secretText)) || bytes.Contains(written, []byte(base64.StdEncoding.EncodeToString([]byte(secretText)))) {
			t.Errorf("%s: %v, %s", name, err, written)
		}
		if got := string(list.Payloads[0].Metadata[converter.MetadataEncoding]); (got == sealedEncoding) != (name == "confidential call") {
			t.Errorf("%s is sealed as %s", name, got)
		}
		for reader, d := range map[string]converter.DataConverter{"on": c, "off": newConverter(off)} {
			switch value.(type) {
			case call:
				var back call
				if err := d.FromPayloads(list, &back); err != nil || string(back.Args) != string(a.Args) {
					t.Errorf("%s, read with sealing %s: %+v, %v", name, reader, back, err)
				}
			case string:
				var back string
				if err := d.FromPayloads(list, &back); err != nil || back != secretText {
					t.Errorf("%s, read with sealing %s: %s, %v", name, reader, back, err)
				}
			}
		}
		var back any
		if err := newConverter(secret.NewSealer(secret.NewKeys())).FromPayloads(list, &back); err == nil {
			t.Errorf("%s opens with the keys of another installation", name)
		}
		list.Payloads[0].Data[len(list.Payloads[0].Data)-1] ^= 1
		if err := c.FromPayloads(list, &back); err == nil {
			t.Errorf("%s opens although a bit is another one", name)
		}
	}
	before, err := newConverter(off).ToPayloads(secretText)
	if err != nil {
		t.Fatal(err)
	}
	var back string
	if err := c.FromPayloads(before, &back); err != nil || back != secretText {
		t.Errorf("what was written before: %s, %v", back, err)
	}
	only := secret.NewSealer(keys)
	only.RefuseClear()
	if err := newConverter(only).FromPayloads(before, &back); !errors.Is(err, secret.ErrClear) {
		t.Errorf("what was written before, where only what is sealed counts: %v", err)
	}
	for name, value := range map[string]any{"call": confidential, "text": secretText, "nothing": nil} {
		sealed, err := newConverter(only).ToPayloads(value)
		var back any
		if err == nil && name != "call" {
			err = newConverter(only).FromPayloads(sealed, &back)
		} else if err == nil {
			err = newConverter(only).FromPayloads(sealed, new(call))
		}
		if err != nil {
			t.Errorf("a sealed %s, where only what is sealed counts: %v", name, err)
		}
	}

	failures := newFailureConverter(on, c)
	failure := failures.ErrorToFailure(sdk.NewApplicationError(secretText, "kind", secretText))
	written, err := proto.Marshal(failure)
	if err != nil || bytes.Contains(written, []byte(secretText)) {
		t.Errorf("a failure is written as %s, %v", written, err)
	}
	for name, s := range map[string]*secret.Sealer{"on": on, "off": off} {
		if got := newFailureConverter(s, newConverter(s)).FailureToError(failure); got == nil || !strings.Contains(got.Error(), secretText) {
			t.Errorf("a failure, read with sealing %s: %v", name, got)
		}
	}
}
