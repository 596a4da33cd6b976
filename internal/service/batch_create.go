package service

import (
	"context"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// CreateBatch is the request to start a batch.
type CreateBatch struct {
	Workflow    chargehand.WorkflowID
	Version     string      // empty: the current one
	Body        value.Value // an object with `items` and perhaps `concurrency`
	Idempotency *Idempotency
	View        View
}

// CreateBatch starts one execution per item. All of them are durable when it returns, or
// none. The answer says pending, as CreateExecution's says initial.
// Codes: workflow_not_found, version_not_found, invalid_body, unknown_field, items_empty,
// too_many_items, input_invalid, storage_reserve, quota_exceeded, idempotency_key_reused, idempotency_in_progress.
func (s *Service) CreateBatch(ctx context.Context, p *Principal, r CreateBatch) (b *Batch, replayed bool, err error) {
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*Batch, error) { return s.createBatch(ctx, p, &r, c) },
		func(c *idempotencyGuard) (*Batch, error) { return s.createdBatch(ctx, p, c.found, r.View) })
}

func (s *Service) createBatch(ctx context.Context, p *Principal, r *CreateBatch, c *idempotencyGuard) (*Batch, error) {
	w, revision, err := s.startable(ctx, p, r.Workflow, r.Version)
	if err != nil {
		return nil, err
	}
	items, concurrency, options, err := s.readItems(r.Body)
	if err != nil {
		return nil, err
	}
	compiled, err := s.plans.Plan(ctx, revision.No)
	if err != nil {
		return nil, storageError(err)
	}
	if err := checkItems(ctx, compiled, items); err != nil {
		return nil, err
	}
	nowMs := s.nowMs()
	row := store.Batch{
		ID: newID[chargehand.BatchID](nowMs), Account: p.AccountNo, Environment: p.Environment,
		Workflow: w.row.No, Revision: revision.No, Total: int64(len(items)), StartedBy: p.actor(),
		Labels: options.labels, RequestedConcurrency: int(concurrency), Concurrency: int(min(concurrency, int64(s.limits.Concurrency))),
	}
	if err := s.checkReserve(); err != nil {
		return nil, err
	}
	room, written := s.admission(p), false
	defer func() { room.end(written) }()
	rows, files, err := s.batchRows(ctx, p, &row, items, options.startMs, &room)
	if err != nil {
		return nil, err
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		if err := insertBatch(tx, &row, rows, files); err != nil {
			return err
		}
		return c.record(tx, statusAccepted, "batch", row.ID)
	})
	if err != nil {
		return nil, err
	}
	written = true
	s.engine.BatchReady(row.No)
	s.names.workflows.put(row.Workflow, w.row.ID)
	s.names.revisions.put(row.Revision, nameOf(&revision))
	s.names.batches.put(row.No, row.ID)
	if r.View.Wait > 0 {
		return s.awaitBatch(ctx, p, row.ID, r.View)
	}
	b := freshBatch(&row, startNames{w.row.ID, w.fullName(), nameOf(&revision), p.startedBy()}, r.View)
	b.entries = make([]batchEntry, len(rows))
	for i := range rows {
		b.entries[i] = batchEntry{id: rows[i].ID, input: rows[i].Input, status: chargehand.Initial}
	}
	return b, nil
}

// readItems reads the body of a batch. Codes: invalid_body, unknown_field, items_empty,
// too_many_items.
func (s *Service) readItems(body value.Value) (items []any, concurrency int64, o startOptions, err error) {
	f, err := openBody(body, "items", "concurrency", "labels", "delay", "delay_until")
	if err != nil {
		return nil, 0, o, err
	}
	list, ok := f.values["items"].([]any)
	switch {
	case !f.has("items"):
		f.fail("items", "required", "The field \"items\" is missing.")
	case !ok:
		f.wrongType("items", "an array of objects")
	}
	concurrency = f.positive("concurrency", defaultConcurrency)
	o = startOptions{f.labels("labels"), f.startMs(s.now())}
	if len(list) <= s.limits.BatchItems {
		for i, item := range list {
			if _, ok := item.(map[string]any); !ok && len(f.wrong) < maxFields {
				f.failAt([]string{"items", strconv.Itoa(i)}, "wrong_type", "An item must be an object, not "+value.KindOf(item)+".")
			}
		}
	}
	switch err := f.err(); {
	case err != nil:
		return nil, 0, o, err
	case len(list) == 0:
		return nil, 0, o, chargehand.NewError(chargehand.CodeItemsEmpty, "A batch needs at least one item.",
			chargehand.FieldError{Pointer: "/items", Code: string(chargehand.CodeItemsEmpty), Detail: "The array is empty."})
	case len(list) > s.limits.BatchItems:
		detail := "A batch has at most " + strconv.Itoa(s.limits.BatchItems) + " items; this one has " + strconv.Itoa(len(list)) + "."
		return nil, 0, o, chargehand.NewError(chargehand.CodeTooManyItems, detail,
			chargehand.FieldError{Pointer: "/items", Code: string(chargehand.CodeTooManyItems), Detail: detail})
	}
	return list, concurrency, o, nil
}

// checkItems validates every item before anything starts. It ends when ctx does, because then the
// client does not wait for the answer any more. Codes: input_invalid.
func checkItems(ctx context.Context, p *plan.Plan, items []any) error {
	if p.InputSchema == nil {
		return nil
	}
	var wrong []chargehand.FieldError
	for i, item := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if wrong = schemaProblems(wrong, p, item, "/items/"+strconv.Itoa(i)); len(wrong) >= maxFields {
			break
		}
	}
	return inputInvalid(wrong)
}

// arenaBytes is how much memory the inputs of a batch are encoded into at a time.
const arenaBytes = 64 << 10

// batchRows makes the rows of the executions, and by item the numbers of the files that the
// items refer to. Codes: input_invalid (an item is too large), quota_exceeded.
func (s *Service) batchRows(ctx context.Context, p *Principal, b *store.Batch, items []any, startMs int64, room *admission) (rows []store.Execution, files map[int][]int64, err error) {
	rows = make([]store.Execution, len(items))
	ids := newSequence(b.ID.Milli())
	traced := span.Encode(ctx)
	starter, err := s.starter(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	var wrong []chargehand.FieldError
	arena := make([]byte, 0, arenaBytes)
	for i, item := range items {
		if len(arena) > arenaBytes/2 {
			arena = make([]byte, 0, arenaBytes)
		}
		from := len(arena)
		arena = value.Append(arena, item)
		data := arena[from:len(arena):len(arena)]
		if int64(len(data)) > s.limits.BodyBytes && len(wrong) < maxFields {
			wrong = append(wrong, chargehand.FieldError{
				Pointer: pointer("items", strconv.Itoa(i)), Code: "too_large",
				Detail: "The item has " + strconv.Itoa(len(data)) + " bytes; the input of an execution has at most " +
					strconv.FormatInt(s.limits.BodyBytes, 10),
			})
		}
		if len(wrong) > 0 {
			continue // the batch is refused; nothing more is stored for it
		}
		if mayRefer(data) {
			used, relative, err := s.itemFiles(ctx, p, item, i)
			if err != nil {
				return nil, nil, err
			}
			if len(used) > 0 {
				if files == nil {
					files = make(map[int][]int64)
				}
				files[i], data = used, relative
			}
		}
		row := &rows[i]
		*row = store.Execution{
			Account: b.Account, Environment: b.Environment, Workflow: b.Workflow, Revision: b.Revision, Machine: machine.Revision,
			Item: int64(i), Status: chargehand.Initial, Phase: chargehand.Pending, State: store.StateQueued,
			Trace: traced, Starter: starter, StartedBy: p.actor(), StartMs: startMs,
		}
		if startMs != 0 {
			row.State = store.StateDelayed
		}
		ids.next(row.ID[:])
		if err := room.take(ctx, amount{executions: 1, bytes: int64(len(data))}); err != nil {
			return nil, nil, err
		}
		if row.Input, err = s.pack(ctx, data); err != nil {
			return nil, nil, err
		}
	}
	if len(wrong) > 0 {
		return nil, nil, chargehand.NewError(chargehand.CodeInputInvalid, wrong[0].Detail+".", wrong...)
	}
	b.LastItem = rows[len(rows)-1].ID
	return rows, files, nil
}

// itemFiles finds the files that an item refers to, and encodes it with relative references.
// Codes: input_invalid.
func (s *Service) itemFiles(ctx context.Context, p *Principal, item value.Value, i int) (used []int64, data []byte, err error) {
	var known map[chargehand.FileID]int64
	err = s.view(ctx, func(r *store.Reader) (err error) {
		known, err = s.inputFiles(r, p, item, "items", strconv.Itoa(i))
		return err
	})
	if err != nil || len(known) == 0 {
		return nil, nil, err
	}
	for _, no := range known {
		used = append(used, no)
	}
	return used, value.Marshal(withBase(item, "", known)), nil
}

// insertBatch writes all rows of a batch.
func insertBatch(tx *store.Tx, b *store.Batch, rows []store.Execution, files map[int][]int64) error {
	if err := tx.InsertBatch(b); err != nil {
		return err
	}
	var used []int64
	for _, of := range files {
		used = append(used, of...)
	}
	kept, err := keepFiles(tx, used)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Batch = b.No
	}
	if err := tx.InsertExecutions(rows); err != nil {
		return err
	}
	for i := range rows {
		for _, file := range files[i] {
			if !kept[file] {
				continue
			}
			if err := tx.UseFile(file, rows[i].No); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitBatch waits for a batch that was just started, or by a request that the principal
// repeats. Codes: batch_not_found (see awaitExecution).
func (s *Service) awaitBatch(ctx context.Context, p *Principal, id chargehand.BatchID, v View) (b *Batch, err error) {
	err = s.await(ctx, id, v.Wait, func(ctx context.Context) (done bool, err error) {
		b, err = s.readBatch(ctx, v, func(r *store.Reader) (store.Batch, error) {
			row, err := r.BatchByID(p.AccountNo, p.Environment, id)
			if err != nil {
				return row, notFoundIs(err, batchNotFound)
			}
			workflow, err := s.names.workflow(r, row.Workflow)
			if err == nil && !p.seesStarted(workflow, row.StartedBy) {
				err = batchNotFound()
			}
			return row, err
		})
		return err == nil && b.Status.Final(), err
	})
	return b, err
}

// createdBatch answers a repeated start.
func (s *Service) createdBatch(ctx context.Context, p *Principal, found *store.Idempotency, v View) (*Batch, error) {
	id := chargehand.BatchID(found.Resource)
	if v.Wait > 0 {
		return s.awaitBatch(ctx, p, id, v)
	}
	var b *Batch
	err := s.view(ctx, func(r *store.Reader) error {
		row, err := r.BatchByID(p.AccountNo, p.Environment, id)
		if err != nil {
			return notFoundIs(err, batchNotFound)
		}
		workflow, err := s.names.workflow(r, row.Workflow)
		if err != nil {
			return err
		}
		if !p.seesStarted(workflow, row.StartedBy) {
			return batchNotFound()
		}
		revision, err := s.names.revision(r, row.Revision)
		if err != nil {
			return err
		}
		by, err := s.names.actor(r, row.StartedBy, s.now())
		if err != nil {
			return err
		}
		row.Labels, err = r.BatchLabels(row.No)
		b = freshBatch(&row, startNames{workflow: workflow, revision: revision, startedBy: by}, v)
		return err
	})
	return b, err
}
