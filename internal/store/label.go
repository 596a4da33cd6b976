package store

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Label is a label of an execution or a batch.
type Label struct{ Name, Value string }

// insertBatchLabels inserts the labels of a batch, which all of its items have.
func (t *Tx) insertBatchLabels(b *Batch) error {
	for _, l := range b.Labels {
		err := t.c.Send("insert label of batch", `INSERT INTO batch_label (batch, account, environment, name, value, last_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
			b.No, b.Account, int64(b.Environment), l.Name, l.Value, b.LastItem[:])
		if err != nil {
			return err
		}
	}
	return nil
}

// Labels reads the labels of executions, by their numbers: their own and those of their batches, by name. Executions
// without labels are left out.
func (r *Reader) Labels(list []Execution) (map[int64][]Label, error) {
	labels := map[int64][]Label{}
	if len(list) == 0 {
		return labels, nil
	}
	nos := make([]int64, len(list))
	items := map[int64][]int64{} // by batch
	for i := range list {
		nos[i] = list[i].No
		if list[i].Batch != 0 {
			items[list[i].Batch] = append(items[list[i].Batch], list[i].No)
		}
	}
	err := inGroups(nos, func(in string, args []any) error {
		return r.c.Query(`SELECT execution, name, value FROM label WHERE execution IN (`+in+`) ORDER BY execution, name`, func(row Row) error {
			labels[row.Int(0)] = append(labels[row.Int(0)], Label{row.Text(1), row.Text(2)})
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	for batch, nos := range items {
		of, err := r.BatchLabels(batch)
		if err != nil {
			return nil, err
		}
		for _, no := range nos {
			if len(of) > 0 {
				labels[no] = mergeLabels(labels[no], of)
			}
		}
	}
	return labels, nil
}

// mergeLabels merges two ordered lists. Where both have a name, the first one counts.
func mergeLabels(own, more []Label) []Label {
	merged := make([]Label, 0, len(own)+len(more))
	for len(own) > 0 && len(more) > 0 {
		switch order := strings.Compare(own[0].Name, more[0].Name); {
		case order <= 0:
			merged, own = append(merged, own[0]), own[1:]
			if order == 0 {
				more = more[1:]
			}
		default:
			merged, more = append(merged, more[0]), more[1:]
		}
	}
	return append(append(merged, own...), more...)
}

// LabelsOfBatches reads the labels of batches, by their numbers and by name. Batches without labels are left out.
func (r *Reader) LabelsOfBatches(batches []int64) (map[int64][]Label, error) {
	labels := map[int64][]Label{}
	err := inGroups(batches, func(in string, args []any) error {
		return r.c.Query(`SELECT batch, name, value FROM batch_label WHERE batch IN (`+in+`) ORDER BY batch, name`, func(row Row) error {
			labels[row.Int(0)] = append(labels[row.Int(0)], Label{row.Text(1), row.Text(2)})
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read labels of batches: %w", err)
	}
	return labels, nil
}

// BatchesWithLabel reads the batches with a label, newest first by id, those that were made in the time of a filter and
// are behind its Before; its workflow, actor and limit are not looked at. Where more than limit batches have the label,
// few is false, and there are none. It reads the index of labels, and up to limit batches.
func (r *Reader) BatchesWithLabel(f BatchFilter, label Label, limit int) (list []Batch, few bool, err error) {
	nos, err := readAll(r, "find batches with a label", `SELECT batch FROM batch_label
 WHERE account = ?1 AND environment = ?2 AND name = ?3 AND value = ?4 ORDER BY last_id DESC LIMIT ?5`, func(row Row, no *int64) { *no = row.Int(0) },
		f.Account, int64(f.Environment), label.Name, label.Value, int64(limit)+1)
	if err != nil || len(nos) > limit {
		return nil, false, err
	}
	low, high := f.bounds()
	err = inGroups(nos, func(in string, args []any) error {
		some, err := r.batches(selectBatch+` WHERE no IN (`+in+`)`, args...)
		for i := range some {
			if id := some[i].ID[:]; bytes.Compare(id, low) >= 0 && bytes.Compare(id, high) < 0 {
				list = append(list, some[i])
			}
		}
		return err
	})
	slices.SortFunc(list, func(a, b Batch) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return list, err == nil, err
}

// BatchLabels reads the labels of a batch, by name.
func (r *Reader) BatchLabels(batch int64) (list []Label, err error) {
	err = r.c.Query(`SELECT name, value FROM batch_label WHERE batch = ?1 ORDER BY name`, func(row Row) error {
		list = append(list, Label{row.Text(0), row.Text(1)})
		return nil
	}, batch)
	if err != nil {
		return nil, fmt.Errorf("read labels of batch: %w", err)
	}
	return list, nil
}
