package cloudevent_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/cloudevent"
)

func TestCheck(t *testing.T) {
	good := map[string]any{"specversion": "1.0", "id": "1", "source": "/shop", "type": "paid"}
	with := func(more ...any) map[string]any {
		event := map[string]any{}
		for name, value := range good {
			event[name] = value
		}
		for i := 0; i < len(more); i += 2 {
			event[more[i].(string)] = more[i+1]
		}
		return event
	}
	many := with()
	for i := range cloudevent.MaxAttributes {
		many["x"+strings.Repeat("y", i%10)+string(rune('a'+i/10))] = true
	}
	long := strings.Repeat("é", cloudevent.MaxAttributeBytes/2)
	for name, c := range map[string]struct {
		event map[string]any
		want  string // name:code of what is wrong
	}{
		"good":               {with("subject", long, "time", "2030-01-31T12:00:00.5Z", "priority", 7, "urgent", true, "data", nil), ""},
		"null is absent":     {with("subject", nil, "type", nil), "type:required"},
		"number as type":     {with("type", 5), "type:wrong_type"},
		"empty id":           {with("id", ""), "id:empty"},
		"long type":          {with("type", long+"x"), "type:too_long"},
		"control character":  {with("source", "/a\nb"), "source:control_character"},
		"bad source":         {with("source", "http://%zz"), "source:bad_uri"},
		"other version":      {with("specversion", "0.3"), "specversion:unsupported"},
		"bad time":           {with("time", "noon"), "time:bad_time"},
		"bad media type":     {with("datacontenttype", "json"), "datacontenttype:bad_media_type"},
		"relative schema":    {with("dataschema", "schema.json"), "dataschema:bad_uri"},
		"name in upper case": {with("orderID", "7"), "orderID:bad_name"},
		"long name":          {with(strings.Repeat("n", cloudevent.MaxNameBytes+1), "7"), strings.Repeat("n", cloudevent.MaxNameBytes+1) + ":bad_name"},
		"object":             {with("order", map[string]any{}), "order:wrong_type"},
		"fraction":           {with("share", 0.5), "share:wrong_type"},
		"large number":       {with("number", 1<<40), "number:out_of_range"},
		"twice the data":     {with("data", 1, "data_base64", "AA=="), "data_base64:ambiguous"},
		"bad base64":         {with("data_base64", "A"), "data_base64:bad_base64"},
		"many attributes":    {many, ":too_long"},
		"several":            {with("id", 1, "b", []any{}, "a", []any{}), "id:wrong_type a:wrong_type b:wrong_type"},
	} {
		event, wrong := cloudevent.Check(c.event)
		var got []string
		for _, p := range wrong {
			got = append(got, p.Name+":"+p.Code)
			if !strings.HasSuffix(p.Detail, ".") && !strings.HasSuffix(p.Detail, "Z.") {
				t.Errorf("%s: %q is no sentence", name, p.Detail)
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: wrong is %q, want %q", name, text, c.want)
		}
		if c.want == "" && event["subject"] != long {
			t.Errorf("%s: kept is %v", name, event)
		}
	}
}

func TestSize(t *testing.T) {
	event := map[string]any{"data": strings.Repeat("x", cloudevent.MaxBytes-len(`{"data":""}`))}
	if bytes, wrong := cloudevent.Size(event); bytes != cloudevent.MaxBytes || wrong != nil {
		t.Errorf("%d bytes are refused: %v", bytes, wrong)
	}
	event["data"] = event["data"].(string) + "x"
	if _, wrong := cloudevent.Size(event); wrong == nil || wrong.Code != "too_long" {
		t.Errorf("one byte more is refused with %v", wrong)
	}
}
