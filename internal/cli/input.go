package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/value"
)

// readGiven reads what a flag gives: the text itself, @FILE, or - for standard input.
func (c console) readGiven(text string) ([]byte, error) {
	switch {
	case text == "-":
		return io.ReadAll(c.in)
	case strings.HasPrefix(text, "@"):
		data, err := os.ReadFile(text[1:])
		return data, unreadable(err)
	}
	return []byte(text), nil
}

// readValue reads the JSON that a flag gives.
func (c console) readValue(flag, text string) (value.Value, error) {
	data, err := c.readGiven(text)
	if err != nil {
		return nil, usage("%s: %w", flag, err)
	}
	v, err := value.Parse(data, value.Limits{Bytes: len(data)})
	if err != nil {
		return nil, usage("%s: not JSON: %w", flag, err)
	}
	return v, nil
}

// readInput reads --input: JSON itself, @FILE, or - for standard input.
func (c console) readInput(text string) (map[string]json.RawMessage, error) {
	if text == "" {
		return map[string]json.RawMessage{}, nil
	}
	data, err := c.readGiven(text)
	if err != nil {
		return nil, usage("--input: %w", err)
	}
	value, err := value.Parse(data, value.Limits{Bytes: len(data)})
	if err != nil {
		if text != "-" && !strings.HasPrefix(text, "@") && !strings.HasPrefix(strings.TrimSpace(text), "{") {
			return nil, usage("--input: not JSON: %w (a file is read with an @ before its name: --input @FILE)", err)
		}
		return nil, usage("--input: not JSON: %w", err)
	}
	if _, isObject := value.(map[string]any); !isObject {
		return nil, usage(`--input: must be a JSON object such as {"name": "Ada"}, but is %s`, kindOf(value))
	}
	var object map[string]json.RawMessage
	return object, json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &object)
}

// kindOf names the kind of a JSON value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// addFiles uploads NAME=PATH pairs and puts their references into the input. A NAME that is given
// more than once, or ends in [], gets a list.
func addFiles(ctx context.Context, api *client.Client, input map[string]json.RawMessage, pairs []string) error {
	lists := map[string][]json.RawMessage{}
	isList := map[string]bool{}
	var order []string
	for _, pair := range pairs {
		name, path, ok := strings.Cut(pair, "=")
		name, list := strings.CutSuffix(name, "[]")
		if !ok || name == "" {
			return usage("--file: %q is not NAME=PATH", pair)
		}
		if _, taken := input[name]; taken {
			return usage("--file: %q is in --input too", name)
		}
		if _, err := os.Stat(path); err != nil {
			return usage("--file: %w", unreadable(err)) // before anything is uploaded
		}
		if _, known := lists[name]; !known {
			order = append(order, name)
		}
		isList[name] = isList[name] || list || len(lists[name]) > 0
		lists[name] = append(lists[name], json.RawMessage(path))
	}
	for _, name := range order {
		for i, path := range lists[name] {
			reference, err := uploadReference(ctx, api, string(path))
			if err != nil {
				return err
			}
			lists[name][i] = reference
		}
		if !isList[name] {
			input[name] = lists[name][0]
			continue
		}
		list, err := json.Marshal(lists[name])
		if err != nil {
			return err
		}
		input[name] = list
	}
	return nil
}

// uploadHint says what to do about a key that may start executions but not upload, as keys of
// the default preset.
const uploadHint = "uploading needs a key with the scope files:write: chargehand keys create --preset operate makes one"

func upload(ctx context.Context, api *client.Client, path string) (*client.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("%w", unreadable(err))
	}
	defer f.Close()
	file, err := api.Upload(ctx, filepath.Base(path), mime.TypeByExtension(filepath.Ext(path)), f)
	var answer *client.Error
	if errors.As(err, &answer) && answer.Status == http.StatusForbidden {
		return nil, fmt.Errorf("upload %s: %w\n%s", path, err, uploadHint)
	}
	if err != nil {
		return nil, fmt.Errorf("upload %s: %w", path, err)
	}
	return file, nil
}

func uploadReference(ctx context.Context, api *client.Client, path string) (json.RawMessage, error) {
	file, err := upload(ctx, api, path)
	if err != nil {
		return nil, err
	}
	return json.Marshal(file.Reference())
}

// readItems reads the items of a batch from .json (an array), .jsonl or .csv (a header, then
// one item a line, every value a text).
func readItems(path string) ([]json.RawMessage, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("--items: %w", unreadable(err))
	}
	var items []json.RawMessage
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json":
		items, err = jsonItems(path, data)
	case ".jsonl", ".ndjson":
		items, err = jsonLines(path, data)
	case ".csv":
		items, err = csvItems(path, data)
	default:
		return nil, usage("--items: %s is not a .json, .jsonl or .csv file", path)
	}
	if err == nil && len(items) == 0 {
		return nil, usage("--items: %s has no items", path)
	}
	return items, err
}

func jsonItems(path string, data []byte) ([]json.RawMessage, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !json.Valid(data) {
		_, err := value.Parse(data, value.Limits{Bytes: len(data)})
		return nil, usage("--items: %s is not JSON: %w", path, err)
	}
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil {
		return nil, usage(`--items: %s must hold a JSON array of objects, such as [{"name": "Ada"}]`, path)
	}
	return items, nil
}

func jsonLines(path string, data []byte) ([]json.RawMessage, error) {
	var items []json.RawMessage
	for i, line := range bytes.Split(data, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return nil, usage("--items: %s:%d is not JSON", path, i+1)
		}
		items = append(items, json.RawMessage(line))
	}
	return items, nil
}

func csvItems(path string, data []byte) ([]json.RawMessage, error) {
	reader := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	header, err := reader.Read()
	if err != nil {
		return nil, usage("--items: %s: read the header: %w", path, err)
	}
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t|") {
		return nil, usage("--items: %s: fields are separated by commas, but the first line is %.80q", path, header[0])
	}
	for i, name := range header {
		if name == "" {
			return nil, usage("--items: %s: column %d has no name in the first line", path, i+1)
		}
		if slices.Contains(header[:i], name) { // an item can keep only one of the two values
			return nil, usage("--items: %s: the name %q is in the first line twice", path, name)
		}
	}
	reader.FieldsPerRecord = -1 // the message below says more than the reader's
	var items []json.RawMessage
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, usage("--items: %s: %w", path, err)
		}
		if len(record) != len(header) {
			line, _ := reader.FieldPos(0)
			return nil, usage("--items: %s:%d: the number of fields is %d, but %d in the first line", path, line, len(record), len(header))
		}
		item := make(map[string]string, len(header))
		for i, name := range header {
			item[name] = record[i]
		}
		encoded, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		items = append(items, encoded)
	}
}

// fileItems uploads every file that a NAME=GLOB names and makes an item of each.
func fileItems(ctx context.Context, api *client.Client, pair string) ([]json.RawMessage, error) {
	name, pattern, ok := strings.Cut(pair, "=")
	if !ok || name == "" {
		return nil, usage("--files: %q is not NAME=PATTERN", pair)
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, usage("--files: %q: %w", pattern, err)
	}
	if len(paths) == 0 {
		return nil, usage("--files: no file matches %s", pattern)
	}
	items := make([]json.RawMessage, 0, len(paths))
	for _, path := range paths {
		reference, err := uploadReference(ctx, api, path)
		if err != nil {
			return nil, err
		}
		item, err := json.Marshal(map[string]json.RawMessage{name: reference})
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
