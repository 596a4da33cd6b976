package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/client"
)

// Tables show the last 8 digits of an id. Commands take these, a prefix that only one id has, or
// the whole id. The first 12 digits of an id are its time in milliseconds, so a prefix of 8 is
// looked for in the rows of one minute; the last digits are looked for in the newest rows.
const (
	shortIDLength = 8
	fullIDLength  = 36
	minIDLength   = 4
	searchedRows  = 10_000
)

var partOfID = regexp.MustCompile(`^[0-9a-fA-F-]+$`)

// matchesID reports whether text names id: its last 8 digits, or a prefix.
func matchesID(id, text string) bool {
	return len(text) >= minIDLength && strings.HasPrefix(id, text) || len(text) == shortIDLength && strings.HasSuffix(id, text)
}

// isPartOfID says whether text can be an id or a part of one.
func isPartOfID(text string) bool {
	return len(text) >= minIDLength && len(text) <= fullIDLength && partOfID.MatchString(text)
}

// prefixTimes are the times that ids with this prefix can have.
func prefixTimes(text string) (from, to time.Time, ok bool) {
	digits := strings.ReplaceAll(text, "-", "")
	if len(digits) < shortIDLength {
		return from, to, false
	}
	digits = digits[:min(len(digits), 12)]
	first, err := strconv.ParseInt(digits+strings.Repeat("0", 12-len(digits)), 16, 64)
	last, err2 := strconv.ParseInt(digits+strings.Repeat("f", 12-len(digits)), 16, 64)
	if err != nil || err2 != nil || first > 1<<43 { // the year 2248
		return from, to, false
	}
	return time.UnixMilli(first - 1), time.UnixMilli(last + 1), true
}

// findExecution reads the execution that text names.
func findExecution(ctx context.Context, api *client.Client, text string) (*client.Execution, error) {
	if len(text) == fullIDLength {
		return api.GetExecutionByID(ctx, text, 0)
	}
	if !isPartOfID(text) {
		return nil, usage("%q is not the id of an execution: give the id, or its last %d digits as tables show them", text, shortIDLength)
	}
	id, err := findID(ctx, "execution", text, func(e *client.Execution) string { return e.ID },
		func(ctx context.Context, after, before, cursor string) (*client.Page[client.Execution], error) {
			return api.ListExecutions(ctx, client.ExecutionFilter{CreatedAfter: after, CreatedBefore: before, Summary: true}, maxPage, cursor)
		})
	if err != nil {
		return nil, err
	}
	return api.GetExecutionByID(ctx, id, 0)
}

// findID looks for the only id that text is a part of in the rows that were created when text says, or, where it is
// short and none of these has it, in the newest rows.
func findID[T any](
	ctx context.Context, what, text string, id func(*T) string,
	list func(ctx context.Context, after, before, cursor string) (*client.Page[T], error),
) (string, error) {
	text = strings.ToLower(text)
	found := map[string]string{}
	search := func(after, before string) error {
		cursor := ""
		for rows := 0; rows < searchedRows; rows += maxPage {
			page, err := list(ctx, after, before, cursor)
			if err != nil {
				return err
			}
			for i := range page.Data {
				if id := id(&page.Data[i]); matchesID(id, text) {
					found[id] = text
				}
			}
			if cursor = page.Cursor; cursor == "" {
				break
			}
		}
		return nil
	}
	if from, to, ok := prefixTimes(text); ok {
		const millis = "2006-01-02T15:04:05.000Z"
		if err := search(from.UTC().Format(millis), to.UTC().Format(millis)); err != nil {
			return "", err
		}
	}
	if len(text) <= shortIDLength && len(found) == 0 {
		if err := search("", ""); err != nil {
			return "", err
		}
	}
	return onlyOne(what, text, found)
}

// onlyOne returns the one id that was found.
func onlyOne(what, text string, found map[string]string) (string, error) {
	ids := make([]string, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	switch len(ids) {
	case 0:
		return "", fmt.Errorf("no %s has an id that begins or ends in %s; of older ones, give the whole id (-o wide shows it)", what, text)
	case 1:
		return ids[0], nil
	}
	return "", usage("%d ids of %s fit %s: give the whole id, such as %s", len(ids), plural(what), text, strings.Join(ids[:min(len(ids), 3)], " or "))
}

// rowWithID returns the row of a list whose id text is, or a part of.
func rowWithID[T any](what, text string, rows []T, id func(*T) string) (*T, error) {
	return onlyRow(what, text, rows, id, func(row *T) bool { return matchesID(id(row), strings.ToLower(text)) })
}

// onlyRow returns the row of a list that fits text.
func onlyRow[T any](what, text string, rows []T, id func(*T) string, fits func(*T) bool) (*T, error) {
	found, known := map[string]string{}, map[string]*T{}
	for i := range rows {
		if row := &rows[i]; fits(row) {
			found[id(row)], known[id(row)] = text, row
		}
	}
	only, err := onlyOne(what, text, found)
	return known[only], err
}

// counted is a number of things: 1 item, 2 items.
func counted[N int | int64](n N, what string) string {
	if n != 1 {
		what = plural(what)
	}
	return fmt.Sprintf("%d %s", n, what)
}

func plural(what string) string {
	if what == "batch" {
		return "batches"
	}
	return what + "s"
}

// findBatch reads the batch that text names, without its items.
func findBatch(ctx context.Context, api *client.Client, text string) (*client.Batch, error) {
	if len(text) == fullIDLength {
		return api.FindBatch(ctx, text)
	}
	if !isPartOfID(text) {
		return nil, usage("%q is not the id of a batch: give the id, or its last %d digits as tables show them", text, shortIDLength)
	}
	id, err := findID(ctx, "batch", text, func(b *client.Batch) string { return b.BatchID },
		func(ctx context.Context, after, before, cursor string) (*client.Page[client.Batch], error) {
			return api.ListBatches(ctx, client.BatchFilter{CreatedAfter: after, CreatedBefore: before}, maxPage, cursor)
		})
	if err != nil {
		return nil, err
	}
	return api.FindBatch(ctx, id)
}

// findWorkflow returns the workflow that text names: namespace/name, its id or a part of it.
func findWorkflow(ctx context.Context, api *client.Client, text string) (*client.Workflow, error) {
	if strings.Contains(text, "/") || len(text) == fullIDLength {
		return api.FindWorkflow(ctx, text)
	}
	if !isPartOfID(text) {
		return nil, usage("%q is not a workflow: give namespace/name, such as examples/hello, or an id", text)
	}
	rows, _, err := gather(ctx, func(ctx context.Context, limit int, cursor string) (*client.Page[client.Workflow], error) {
		return api.ListWorkflows(ctx, client.WorkflowFilter{}, limit, cursor)
	}, searchedRows, "")
	if err != nil {
		return nil, err
	}
	return rowWithID("workflow", text, rows, func(w *client.Workflow) string { return w.ID })
}

// workflowWithExecutions returns the id of the workflow that text names, also of one that was deleted, by its whole id:
// its executions are kept.
func workflowWithExecutions(ctx context.Context, api *client.Client, text string) (string, error) {
	w, err := findWorkflow(ctx, api, text)
	if err == nil {
		return w.ID, nil
	}
	if len(text) != fullIDLength || strings.Contains(text, "/") || !isNotFound(err) {
		return "", err
	}
	if _, failed := api.ListExecutions(ctx, client.ExecutionFilter{Workflow: text, Summary: true}, 1, ""); failed != nil {
		if isNotFound(failed) {
			return "", err
		}
		return "", failed // which says nothing of the workflow
	}
	return text, nil
}

func isNotFound(err error) bool {
	var refused *client.Error
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound
}

// names tells ids of workflows as namespace/name, asking once for each.
type names struct {
	api   *client.Client
	known map[string]string
}

func newNames(api *client.Client) *names { return &names{api: api, known: map[string]string{}} }

// learn asks for every workflow that is not known yet: with one request where there are many.
func (n *names) learn(ctx context.Context, ids []string) {
	missing := map[string]bool{}
	for _, id := range ids {
		if n.known[id] == "" {
			missing[id] = true
		}
	}
	const listFrom = 4
	if len(missing) >= listFrom {
		if page, err := n.api.ListWorkflows(ctx, client.WorkflowFilter{}, maxPage, ""); err == nil {
			for i := range page.Data {
				n.known[page.Data[i].ID] = page.Data[i].FullName()
				delete(missing, page.Data[i].ID)
			}
		}
	}
	for id := range missing {
		n.known[id] = id // of a deleted workflow, there is no more
		if w, err := n.api.GetWorkflow(ctx, id); err == nil {
			n.known[id] = w.FullName()
		}
	}
}

// of is the name of a workflow; of a deleted one its id.
func (n *names) of(id string) string {
	if name := n.known[id]; name != "" {
		return name
	}
	return id
}
