package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/value"
)

// showTask prints a task.
func (c *connection) showTask(t *client.HumanTask) error {
	if !c.tables() {
		return c.encode(t)
	}
	fields := []field{
		{"id", t.ID}, {"title", t.Title}, {"status", t.Status}, {"withdrawn", t.WithdrawnReason}, {"due", exactly(t.DueAt)}, {"priority", fmt.Sprint(t.Priority)},
		{"claimed by", personText(t.ClaimedBy)},
		{"users", strings.Join(t.Assignees.Users, ", ")}, {"groups", strings.Join(t.Assignees.Groups, ", ")}, {"excluded", strings.Join(t.Assignees.Exclude, ", ")},
		{"workflow", t.Workflow}, {"execution", t.ExecutionID}, {"task", taskPath(t.Reference) + iterationsText(t.Iterations)},
		{"batch", strings.TrimSpace(t.BatchID + " " + t.ItemID)}, {"environment", t.Environment},
		{"created", exactly(&t.CreatedAt)}, {"ended", exactly(t.EndedAt)}, {"outcomes", outcomesText(t.Outcomes)}, {"files to give", uploadText(t.Upload)},
	}
	for i := range t.Links {
		fields = append(fields, field{"link", c.linkText(&t.Links[i])})
	}
	if a := t.Answer; a != nil {
		fields = append(fields, field{"answer", a.Outcome}, field{"answered by", answererText(&a.By)})
		if !a.Used {
			fields = append(fields, field{"used", "no: the execution has not continued with it"})
		}
		if a.Comment != "" {
			fields = append(fields, field{"comment", a.Comment})
		}
		if len(a.Data) > 0 {
			fields = append(fields, field{"data", string(a.Data)})
		}
		for _, file := range a.Files {
			fields = append(fields, field{"file", fileText(file)})
		}
	}
	if err := c.show(t, fields); err != nil {
		return err
	}
	_, err := io.WriteString(c.out, taskContent(t))
	return err
}

// taskContent is what a person looks at before answering: instructions, data, files and comments.
func taskContent(t *client.HumanTask) string {
	var out strings.Builder
	if text := strings.TrimSpace(printableLines(t.Instructions)); text != "" {
		fmt.Fprintf(&out, "\n%s\n", text)
	}
	if lines := dataLines(t.Show); len(lines) > 0 {
		fmt.Fprintf(&out, "\n%s\n", strings.Join(lines, "\n"))
	}
	if len(t.Files) > 0 {
		out.WriteString("\nFiles:\n")
		for _, file := range t.Files {
			fmt.Fprintf(&out, "  %s\n", fileText(file))
		}
	}
	if len(t.Comments) > 0 {
		out.WriteString("\nComments:\n")
		for _, comment := range t.Comments {
			text := strings.ReplaceAll(printableLines(comment.Text), "\n", "\n    ")
			fmt.Fprintf(&out, "  %s, %s: %s\n", printable(comment.By.Name), exactly(&comment.At), text)
		}
	}
	return out.String()
}

// dataLines are data to be looked at: a line for each property of an object.
func dataLines(data json.RawMessage) []string {
	v, err := value.Parse(data, value.Limits{Bytes: 1 + len(data), Depth: value.MaxDepth})
	if err != nil || v == nil {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return []string{valueText(v)}
	}
	names := value.SortedKeys(object)
	width := 0
	for _, name := range names {
		width = max(width, min(textWidth(printable(name)), 24))
	}
	lines := make([]string, len(names))
	for i, name := range names {
		text := strings.ReplaceAll(valueText(object[name]), "\n", "\n"+strings.Repeat(" ", width+2))
		name = printable(name)
		lines[i] = name + ":" + strings.Repeat(" ", max(0, width-textWidth(name))+1) + text
	}
	return lines
}

// valueText is a value as people read it: texts as they are, others as JSON.
func valueText(v value.Value) string {
	if text, ok := v.(string); ok {
		return printableLines(text)
	}
	return printable(string(value.Marshal(v)))
}

// fileText names a file by its reference.
func fileText(reference json.RawMessage) string {
	var file struct {
		Name      string      `json:"name"`
		URI       string      `json:"uri"`
		MediaType string      `json:"mediaType"`
		Size      json.Number `json:"size"`
	}
	if json.Unmarshal(reference, &file) != nil {
		return printable(string(reference))
	}
	text := firstOf(file.Name, file.URI)
	var about []string
	if file.Size != "" {
		about = append(about, file.Size.String()+" bytes")
	}
	if file.MediaType != "" {
		about = append(about, file.MediaType)
	}
	if file.Name != "" && file.URI != "" {
		about = append(about, "id "+file.URI[strings.LastIndex(file.URI, "/")+1:])
	}
	if len(about) > 0 {
		text += " (" + strings.Join(about, ", ") + ")"
	}
	return printable(text)
}

// answererText names who has answered, and whose link was used for it.
func answererText(by *client.TaskAnswerer) string {
	text := firstOf(by.Name, by.ID)
	switch by.Via.Kind {
	case "event":
		text += " by an event"
	case "link":
		text += " by a link"
		if by.ID != by.Via.ID { // an e-mail address or a user
			text = firstOf(by.Name, by.ID) + " (" + by.ID + ") by a link"
		}
	}
	return text
}

func personText(p *client.TaskPerson) string {
	if p == nil {
		return ""
	}
	return firstOf(p.Name, p.ID)
}

func iterationsText(iterations []int) string {
	text := ""
	for _, i := range iterations {
		text += fmt.Sprintf("[%d]", i)
	}
	return text
}

func outcomesText(outcomes []client.TaskOutcome) string {
	texts := make([]string, len(outcomes))
	for i, o := range outcomes {
		if texts[i] = o.Name; o.Title != o.Name {
			texts[i] += " (" + o.Title + ")"
		}
	}
	return strings.Join(texts, ", ")
}

func uploadText(u *client.TaskUpload) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("up to %d", u.Max)
	if u.Required {
		text = fmt.Sprintf("1 to %d", u.Max)
	}
	if len(u.Accept) > 0 {
		text += ": " + strings.Join(u.Accept, ", ")
	}
	return text
}
