package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var sealedTests = map[string]func(*fixture){
	"nothing in clear":          sealedNothingInClear,
	"damage":                    sealedDamage,
	"other rows of a list":      sealedListWithDamage,
	"switched on and off":       sealedSwitched,
	"marks in data":             sealedMarks,
	"clear values refused":      sealedOnly,
	"clear values found":        sealedFindsClear,
	"clear values of each kind": sealedColumnsInClear,
	"digests":                   sealedDigests,
	"hashes of bodies":          sealedHashes,
	"definitions":               sealedDefinitions,
	"a store without keys":      sealedWithoutKeys,
	"reasons that are damaged":  sealedReasons,
	"an input that is damaged":  sealedInputs,
	"an audit log with damage":  sealedAudit,
	"events that do not belong": sealedEvents,
}

// clear is what no column may show.
const clear = "what-a-user-gave"

func clearly(more string) []byte { return []byte(`{"x":"` + clear + more + `"}`) }

// sealedColumns are those that sealedNothingInClear fills.
var sealedColumns = []string{
	"execution.input", "input.data", "outcome.output", "outcome.fault", "outcome.timeline", "journal.event", "checkpoint.state",
	"timeline_chunk.data", "event.data", "schedule_match.state", "outbox.reason", "batch.reason", "definition.source", "definition.resources",
	"audit.changes", "execution.waits", "log_segment.data",
}

// fillSealed writes to all of sealedColumns.
func (f *fixture) fillSealed() (small, large store.Execution, batch int64) {
	f.Helper()
	small, large = f.execution(startMs), f.execution(startMs)
	small.Input, large.Input = inline(string(clearly(""))), inline(string(clearly(strings.Repeat("x", 2000))))
	f.insert(&small, &large)
	made, _ := f.batch(3)
	batch = made.No
	schedule := store.Match{Schedule: f.scheduled(1).No, Number: 1, State: inline(string(clearly("m")))}
	entry := store.Audit{Account: 1, Action: "a", Changes: clearly("a")}
	setID(f, &entry.ID, startMs)
	f.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(large.No, chargehand.Finished, chargehand.Completed, startMs, startMs,
			&store.Outcome{Output: inline(string(clearly("o"))), Timeline: clearly("t")})
		if err != nil {
			return err
		}
		err = errors.Join(
			tx.AppendJournal(&store.JournalRow{Execution: small.No, Seq: 1, Event: inline(string(clearly("j")))}),
			tx.PutCheckpoint(&store.Checkpoint{Execution: small.No, Seq: 1, State: inline(string(clearly("s")))}),
			tx.AppendTimelineChunk(small.No, clearly("1")), tx.PutTimelineChunk(small.No, 2, clearly("2")),
			tx.InsertOutboxMessage(&store.OutboxMessage{Execution: small.No, Kind: store.OutboxCancel, Reason: clear}),
			tx.AppendLog(&store.LogSegment{Execution: small.No, Lines: 1, Bytes: 1, Data: inline(string(clearly("l")))}),
			tx.PutMatch(schedule),
			tx.SetState(small.No, chargehand.Waiting, store.StateParked, store.Waits{Kind: store.WaitEvent, Types: []string{clear}}),
			tx.InsertAudit(&entry),
			tx.PutDefinition(&store.Definition{Account: 1, Digest: make([]byte, 32), MediaType: "x/y", Source: clearly("d"), Resources: clearly("r")}),
		)
		if err != nil {
			return err
		}
		if _, err := tx.SetBatchCancelled(batch, clear); err != nil {
			return err
		}
		e := event("1", "a")
		e.Data = inline(string(clearly("e")))
		if _, err := tx.InsertEvents([]store.Event{e}, startMs); err != nil {
			return err
		}
		_, _, err = tx.CancelQueuedItems(batch, 10, startMs, clearly("f"))
		return err
	})
	return small, large, batch
}

func sealedNothingInClear(f *fixture) {
	small, large, batch := f.fillSealed()
	for _, name := range sealedColumns {
		table, column, _ := strings.Cut(name, ".")
		if n := f.clearRows(table, column); n == 0 {
			f.Errorf("the test writes no %s", name)
		}
	}
	f.view(func(r *store.Reader) error {
		o, err := r.Outcome(large.No)
		if err != nil || !bytes.Equal(o.Output.Inline, clearly("o")) || !bytes.Equal(o.Timeline, clearly("t")) || o.Output.Size != int64(len(clearly("o"))) {
			f.Errorf("outcome %+v, %v", o, err)
		}
		e, err := r.ExecutionByNo(large.No)
		if err != nil || !bytes.Equal(e.Input.Inline, large.Input.Inline) {
			f.Errorf("input %q, %v", e.Input.Inline, err)
		}
		if e, err := r.ExecutionByNo(small.No); err != nil || e.Waits.Kind != store.WaitEvent || e.Waits.Types[0] != clear {
			f.Errorf("it waits for %+v, %v", e.Waits, err)
		}
		chunks, err := r.TimelineChunks(small.No)
		if err != nil || len(chunks) != 2 || !bytes.Equal(chunks[1], clearly("2")) {
			f.Errorf("chunks %q, %v", chunks, err)
		}
		log, err := r.LogSegments(small.No, 0, 10)
		if err != nil || len(log) != 1 || !bytes.Equal(log[0].Data.Inline, clearly("l")) {
			f.Errorf("log %+v, %v", log, err)
		}
		b, err := r.BatchByNo(batch)
		if err != nil || b.Reason != clear {
			f.Errorf("batch cancelled because of %q, %v", b.Reason, err)
		}
		faults := 0
		err = r.ListItems(store.ItemFilter{Batch: batch, AfterItem: -1, Limit: 10}, func(e *store.Execution, fault []byte) error {
			if bytes.Equal(fault, clearly("f")) {
				faults++
			}
			return nil
		})
		if err != nil || faults != 3 {
			f.Errorf("%d faults of 3 items, %v", faults, err)
		}
		return nil
	})
}

// clearRows reports rows of a column that show what must be sealed, and counts all that are not NULL.
func (f *fixture) clearRows(table, column string) (n int) {
	f.Helper()
	err := f.db.View(context.Background(), func(c store.Conn) error {
		return c.Query(fmt.Sprintf(`SELECT %s FROM %s WHERE %s IS NOT NULL`, column, table, column), func(r store.Row) error {
			n++
			if b := r.Bytes(0); bytes.Contains(b, []byte(clear)) {
				f.Errorf("%s.%s shows %q", table, column, b)
			}
			return nil
		})
	})
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// raw runs a statement beside package store.
func (f *fixture) raw(query string, args ...any) {
	f.Helper()
	err := f.db.Update(context.Background(), func(c store.Conn) error {
		n, err := c.Exec(query, args...)
		if err == nil && n == 0 {
			err = errors.New("no row was changed")
		}
		return err
	})
	if err != nil {
		f.Fatalf("%s: %v", query, err)
	}
}

// rawBytes reads a column beside package store.
func (f *fixture) rawBytes(query string, args ...any) (b []byte) {
	f.Helper()
	err := f.db.View(context.Background(), func(c store.Conn) error {
		return c.Query(query, func(r store.Row) error {
			b = r.Bytes(0)
			return nil
		}, args...)
	})
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func (f *fixture) ended(output string) int64 {
	f.Helper()
	no := f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs, output); return err })
	return no
}

func (f *fixture) outputDamage(no int64) (damage error) {
	f.Helper()
	f.view(func(r *store.Reader) error {
		o, err := r.Outcome(no)
		damage = o.Output.Damage
		if damage == nil != (o.Output.Inline != nil) {
			f.Errorf("output %q with damage %v", o.Output.Inline, damage)
		}
		return err
	})
	return damage
}

func sealedDamage(f *fixture) {
	one, two := f.ended(`"one"`), f.ended(`"two"`)
	if err := f.outputDamage(one); err != nil {
		f.Fatal(err)
	}
	column := f.rawBytes(`SELECT output FROM outcome WHERE execution = ?1`, one)
	for i := 1; i < len(column); i += 7 {
		flipped := bytes.Clone(column)
		flipped[i] ^= 0x10
		f.raw(`UPDATE outcome SET output = ?2 WHERE execution = ?1`, one, flipped)
		if f.outputDamage(one) == nil {
			f.Errorf("byte %d is another one, and the output opens", i)
		}
	}
	f.raw(`UPDATE outcome SET output = ?2 WHERE execution = ?1`, one, column[:len(column)-1])
	if f.outputDamage(one) == nil {
		f.Error("an output that was cut off opens")
	}
	f.raw(`UPDATE outcome SET output = ?2 WHERE execution = ?1`, two, column)
	if f.outputDamage(two) == nil {
		f.Error("the output of one execution opens as that of another")
	}
	f.raw(`UPDATE outcome SET output = NULL, fault = ?2 WHERE execution = ?1`, one, column)
	f.view(func(r *store.Reader) error {
		if _, err := r.Outcome(one); err == nil {
			f.Error("the output of an execution opens as its error")
		}
		return nil
	})
	f.raw(`UPDATE outcome SET output = ?2, fault = NULL WHERE execution = ?1`, one, column)
}

func sealedListWithDamage(f *fixture) {
	one, two := f.execution(startMs), f.execution(startMs)
	f.insert(&one, &two)
	f.raw(`UPDATE execution SET input = (SELECT input FROM execution WHERE no = ?2) WHERE no = ?1`, one.No, two.No)
	f.view(func(r *store.Reader) error {
		list, err := r.ExecutionsByState(store.StateQueued, nil, 10)
		if err != nil || len(list) != 2 || list[0].Input.Damage == nil || list[1].Input.Damage != nil || string(list[1].Input.Inline) != `{"n":1}` {
			f.Errorf("listed %+v, %v", list, err)
		}
		return nil
	})
}

func sealedInputs(f *fixture) {
	one, two := f.execution(startMs), f.execution(startMs)
	large := inline(strings.Repeat("1", 2000))
	one.Input, two.Input = large, large
	f.insert(&one, &two)
	f.raw(`UPDATE input SET data = (SELECT data FROM input WHERE execution = ?2) WHERE execution = ?1`, one.No, two.No)
	f.view(func(r *store.Reader) error {
		e, err := r.ExecutionByNo(one.No)
		if err != nil || e.Input.Damage == nil || e.Input.Inline != nil {
			f.Errorf("the input of another execution: %+v, %v", e.Input, err)
		}
		return nil
	})
}

func sealedEvents(f *fixture) {
	f.insertEvents(startMs, event("1", "a"), event("2", "b"))
	f.raw(`UPDATE event SET data = (SELECT data FROM event WHERE number = 2) WHERE number = 1`)
	f.view(func(r *store.Reader) error {
		var damages []bool
		err := r.Events(1, chargehand.Live, 0, 10, 10, func(e *store.Event) (bool, error) {
			damages = append(damages, e.Data.Damage != nil)
			return true, nil
		})
		if err != nil || fmt.Sprint(damages) != "[true false]" {
			f.Errorf("damages %v, %v", damages, err)
		}
		return nil
	})
}

func sealedReasons(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error {
		return tx.InsertOutboxMessage(&store.OutboxMessage{Execution: no, Kind: store.OutboxCancel, Reason: "x"})
	})
	column := f.rawBytes(`SELECT reason FROM outbox WHERE execution = ?1`, no)
	column[len(column)-1] ^= 1
	f.raw(`UPDATE outbox SET reason = ?2 WHERE execution = ?1`, no, column)
	f.update(func(tx *store.Tx) error {
		list, err := tx.LeaseOutbox([]store.OutboxKind{store.OutboxCancel}, startMs, startMs+1, 10)
		if err != nil || len(list) != 1 || list[0].Reason != "" {
			f.Errorf("leased %+v, %v: the cancellation must not wait for its reason", list, err)
		}
		return err
	})
}

func sealedAudit(f *fixture) {
	first, second := store.Audit{Account: 1, Changes: []byte(`{"x":1}`)}, store.Audit{Account: 1, Changes: []byte(`{"x":2}`)}
	setID(f, &first.ID, startMs)
	setID(f, &second.ID, startMs)
	one, two := first.ID, second.ID
	f.update(func(tx *store.Tx) error { return errors.Join(tx.InsertAudit(&first), tx.InsertAudit(&second)) })
	f.raw(`UPDATE audit SET changes = (SELECT changes FROM audit WHERE id = ?2) WHERE id = ?1`, one[:], two[:])
	f.view(func(r *store.Reader) error {
		list, err := r.ListAudit(store.AuditFilter{Account: 1, Limit: 10})
		if err != nil || len(list) != 2 || string(list[0].Changes) != `{"x":2}` || !strings.Contains(string(list[1].Changes), "cannot be opened") {
			f.Errorf("the log is %+v, %v", list, err)
		}
		return nil
	})
}

// sealedSwitched: what was written before stays readable, and what is written is as it is set now.
func sealedSwitched(f *fixture) {
	first := f.ended(`"` + clear + `"`)
	f.SetSealer(f.sealer, false, nil)
	second := f.ended(`"` + clear + `"`)
	if f.rawBytes(`SELECT output FROM outcome WHERE execution = ?1`, second)[0] != '"' {
		f.Error("an output is sealed although sealing is off")
	}
	f.SetSealer(f.sealer, true, nil)
	third := f.ended(`"` + clear + `"`)
	f.view(func(r *store.Reader) error {
		for _, no := range []int64{first, second, third} {
			if o, err := r.Outcome(no); err != nil || string(o.Output.Inline) != `"`+clear+`"` {
				f.Errorf("output %q, %v", o.Output.Inline, err)
			}
		}
		return nil
	})
	plain := f.rawBytes(`SELECT output FROM outcome WHERE execution = ?1`, second)
	f.raw(`UPDATE outcome SET output = NULL WHERE execution = ?1`, second)
	f.clearRows("outcome", "output")
	f.raw(`UPDATE outcome SET output = ?2 WHERE execution = ?1`, second, plain)
}

// sealedOnly: a clear value in the place of a sealed one is refused, whatever it looks like, the error says of what row
// it is, and another row is sound.
func sealedOnly(f *fixture) {
	replaced, sound := f.ended(`"`+clear+`"`), f.ended(`"`+clear+`"`)
	column := f.rawBytes(`SELECT output FROM outcome WHERE execution = ?1`, replaced)
	for _, text := range []string{`"forged"`, "\xC4\"forged\"", "{"} {
		f.raw(`UPDATE outcome SET output = ?2 WHERE execution = ?1`, replaced, []byte(text))
		damage := f.outputDamage(replaced)
		if !errors.Is(damage, store.ErrClear) || !strings.Contains(fmt.Sprint(damage), fmt.Sprintf("open the output of an execution in row %d: it is not encrypted", replaced)) {
			f.Errorf("%q is read with the error %v", text, damage)
		}
		if err := f.outputDamage(sound); err != nil {
			f.Errorf("the other row: %v", err)
		}
		found := f.clear(10)
		f.view(func(r *store.Reader) error {
			e, err := r.ExecutionByNo(replaced)
			if len(found) != 1 || found[0] != "the output of an execution is not encrypted: execution "+e.ID.String() {
				f.Errorf("found %q", found)
			}
			return err
		})
	}
	f.raw(`UPDATE outcome SET output = ?2 WHERE execution = ?1`, replaced, column)
}

// clear lists what is not sealed.
func (f *fixture) clear(limit int) (found []string) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		found, err = r.ClearRows(limit)
		return err
	})
	return found
}

// sealedFindsClear: in every column, what is in clear is found, and what is sealed is not.
func sealedFindsClear(f *fixture) {
	f.fillSealed()
	if found := f.clear(10); len(found) != 0 {
		f.Errorf("sealed, and found as clear: %q", found)
	}
}

// sealedColumnsInClear: each column that may be sealed is found when it is in clear, as is a content.
func sealedColumnsInClear(f *fixture) {
	f.SetSealer(f.sealer, false, nil)
	f.fillSealed()
	digest := bytes.Repeat([]byte{7}, 32)
	e := f.execution(startMs)
	e.Input = store.Payload{Blob: digest, Size: 10}
	f.update(func(tx *store.Tx) error { return tx.ReserveBlob(digest, 10) })
	f.insert(&e)
	found := strings.Join(f.clear(100), "\n")
	for _, want := range []string{
		"input of an execution", "output of an execution", "error of an execution", "timeline of an execution", "log of an execution", "journal of an execution",
		"state of an execution", "event", "events that a schedule has collected", "what an execution waits for", "reason of a cancellation",
		"reason of the cancellation of a batch", "definition", "resources of a definition",
	} {
		if !strings.Contains(found, "the "+want+" is not encrypted: ") {
			f.Errorf("no %s among\n%s", want, found)
		}
	}
	if !strings.Contains(found, "a content is not encrypted: sha256:070707") {
		f.Errorf("no content among\n%s", found)
	}
	if n := len(f.clear(1)); n != 17 {
		f.Errorf("with one of each column, %d are listed", n)
	}
}

// sealedMarks: data that begins with what marks columns is read as it was written.
func sealedMarks(f *fixture) {
	no := f.inserted()
	for _, all := range []bool{true, false} {
		f.SetSealer(f.sealer, all, nil)
		for first := range 256 {
			want := []byte{byte(first), 1, 2}
			f.update(func(tx *store.Tx) error {
				return tx.PutCheckpoint(&store.Checkpoint{Execution: no, Seq: 1, State: store.Payload{Inline: want, Size: 3}})
			})
			f.view(func(r *store.Reader) error {
				if c, err := r.Checkpoint(no); err != nil || !bytes.Equal(c.State.Inline, want) || c.State.Size != 3 {
					f.Errorf("sealing %t: state %x, %v, want %x", all, c.State.Inline, err, want)
				}
				return nil
			})
		}
	}
}

func sealedDigests(f *fixture) {
	digest := append(bytes.Repeat([]byte{7}, 32), 1)
	f.update(func(tx *store.Tx) error { return tx.ReserveBlob(digest, 10) })
	row := store.File{Account: 1, Environment: chargehand.Live, Name: "x", MediaType: "x/y", Size: 10, Digest: digest, Visible: true}
	setID(f, &row.ID, startMs)
	deleted := row
	setID(f, &deleted.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertFile(&deleted) })
	f.update(func(tx *store.Tx) error { return tx.DeleteFile(deleted.No) })
	e := f.execution(startMs)
	e.Input = store.Payload{Blob: digest, Size: 10}
	f.insert(&e)
	f.update(func(tx *store.Tx) error { return errors.Join(tx.InsertFile(&row), tx.KeepExecutionBlob(e.No, digest)) })
	hidden := f.rawBytes(`SELECT digest FROM blob`)
	if len(hidden) != 33 || bytes.Contains(hidden, digest[:8]) {
		f.Errorf("the digest is in the database as %x", hidden)
	}
	if n := f.number(`SELECT refs FROM blob WHERE digest = ?1`, hidden); n != 3 {
		f.Errorf("%d references to the content, want 3", n)
	}
	f.view(func(r *store.Reader) error {
		got, err := r.FileByID(1, chargehand.Live, row.ID)
		if err != nil || !bytes.Equal(got.Digest, digest) {
			f.Errorf("file with digest %x, %v", got.Digest, err)
		}
		if e, err := r.ExecutionByNo(e.No); err != nil || !bytes.Equal(e.Input.Blob, digest) {
			f.Errorf("input with digest %x, %v", e.Input.Blob, err)
		}
		if known, err := r.BlobKnown(digest); err != nil || !known {
			f.Errorf("known %t, %v", known, err)
		}
		list, err := r.ReferredBlobs(nil, 10)
		if err != nil || len(list) != 1 || !bytes.Equal(list[0].Name, hidden) {
			f.Errorf("referred %v, %v", list, err)
		}
		return nil
	})
	f.update(func(tx *store.Tx) error {
		if _, err := finish(tx, e.No, startMs, "1"); err != nil {
			return err
		}
		if _, err := tx.DeleteEnded(chargehand.Live, startMs+1, 10); err != nil {
			return err
		}
		_, err := tx.DeleteUploads(chargehand.Live, startMs+1, 10)
		return err
	})
	if digests := f.sweep(startMs, startMs+1); len(digests) != 1 || !bytes.Equal(digests[0], digest) {
		f.Errorf("to be deleted: %x", digests)
	}
	f.update(func(tx *store.Tx) error { return tx.RemoveBlob(digest) })
}

func sealedHashes(f *fixture) {
	i := store.Idempotency{Hash: make([]byte, 32), Account: 1, Environment: chargehand.Live, BodyHash: bytes.Repeat([]byte{9}, 32), Kind: "k", CreatedMs: startMs}
	f.update(func(tx *store.Tx) error { return tx.InsertIdempotency(&i, 0) })
	if stored := f.rawBytes(`SELECT body_hash FROM idempotency`); bytes.Contains(stored, i.BodyHash[:8]) {
		f.Errorf("the hash of the body is in the database as %x", stored)
	}
	f.view(func(r *store.Reader) error {
		if got, err := r.FindIdempotency(i.Hash, 0); err != nil || !bytes.Equal(got.BodyHash, i.BodyHash) {
			f.Errorf("hash %x, %v", got.BodyHash, err)
		}
		return nil
	})
}

func sealedDefinitions(f *fixture) {
	d := store.Definition{Account: 1, Digest: bytes.Repeat([]byte{3}, 32), MediaType: "x/y", Source: clearly("s")}
	f.update(func(tx *store.Tx) error { return tx.PutDefinition(&d) })
	f.view(func(r *store.Reader) error {
		if got, err := r.Definition(d.No); err != nil || !bytes.Equal(got.Source, d.Source) || got.Resources != nil {
			f.Errorf("definition %+v, %v", got, err)
		}
		return nil
	})
	f.raw(`UPDATE definition SET digest = ?1`, bytes.Repeat([]byte{4}, 32))
	f.view(func(r *store.Reader) error {
		if got, err := r.Definition(d.No); err == nil {
			f.Errorf("the text of another definition opens: %+v", got)
		}
		return nil
	})
}

func sealedWithoutKeys(f *fixture) {
	no := f.ended("1")
	other := store.New(f.db)
	err := other.View(context.Background(), func(r *store.Reader) error {
		o, err := r.Outcome(no)
		if !errors.Is(o.Output.Damage, store.ErrNoSealer) {
			f.Errorf("output without keys: %v", o.Output.Damage)
		}
		return err
	})
	if err != nil {
		f.Error(err)
	}
}
