package machine

import (
	"slices"
	"testing"
)

func TestReferences(t *testing.T) {
	const a, b, c = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058", "01890a5d-ac96-774b-bcce-b302099a8059"
	ref := func(uri string) map[string]any { return map[string]any{"uri": uri, "name": "x"} }
	tests := map[string]struct {
		value any
		want  []string
	}{
		"none":            {map[string]any{"a": []any{1, "x", nil}}, nil},
		"text only":       {map[string]any{"a": "/api/v1/files/" + a}, nil},
		"relative":        {ref("/api/v1/files/" + a), []string{a}},
		"absolute":        {ref("https://example.com/api/v1/files/" + a), []string{a}},
		"other scheme":    {ref("ftp://example.com/api/v1/files/" + a), nil},
		"content address": {ref("/api/v1/files/" + a + "/content"), nil},
		"query":           {ref("https://example.com/api/v1/files/" + a + "?x=1"), nil},
		"no id":           {ref("/api/v1/files/report.pdf"), nil},
		"upper case":      {ref("/api/v1/files/01890A5D-AC96-774B-BCCE-B302099A8057"), []string{a}},
		"document order": {map[string]any{
			"z": ref("/api/v1/files/" + a),
			"b": []any{ref("/api/v1/files/" + c), map[string]any{"deep": ref("/api/v1/files/" + b)}},
			"a": "nothing",
		}, []string{c, b, a}},
		"once": {[]any{ref("/api/v1/files/" + b), ref("/api/v1/files/" + a), ref("http://h/api/v1/files/" + b)}, []string{b, a}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, id := range References(test.value) {
				got = append(got, id.String())
			}
			if !slices.Equal(got, test.want) {
				t.Fatalf("got %v, want %v", got, test.want)
			}
		})
	}
}
