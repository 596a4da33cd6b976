package api

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// TestTaskPageUploads: files are stored as they come, stay when something else is wrong, and can be taken out.
func TestTaskPageUploads(t *testing.T) {
	l := asking(t, `{type: object, properties: {scan: {format: file-ref, contentMediaType: image/*}, more: {type: array, items: {format: file-ref}}, n: {type: integer}}}`, nil)
	l.request.Upload = &human.Upload{Max: 3, Accept: []string{"image/*", ".pdf"}}
	s, _ := linkServer(l)
	sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200, `accept="image/*,.pdf"`, "multiple")
	sheet.attach("upload:in/scan", "scan.png", "12345").attach("upload:in/more", "../../etc/passwd", "1").attach("upload:in/more", `<b>"x"`, "2").attach("upload:files", "a.pdf", "3")
	sheet = wantTask(t, serve(s, sheet.tick("upload:in/more", "").fill("in/n", "x").press("answer:approve")), 422, "This is not a number", "a.pdf", "scan.png", "&lt;b&gt;")
	if len(l.answers) > 0 || len(l.stored) != 4 || len(sheet.values("uploads")) != 3 || len(sheet.values("files")) != 1 || len(sheet.values("in/more")) != 3 {
		t.Fatalf("%d stored, %v", len(l.stored), sheet.fields)
	}
	// One more for the answer, another scan, and one of two others goes.
	sheet.attach("upload:files", "b.pdf", "4").attach("upload:in/scan", "better.png", "6")
	kept := sheet.values("in/more")[2]
	sheet.fields = deleted(sheet.fields, "in/more")
	if a := serve(s, sheet.tick("in/more", "").tick("in/more", kept).fill("in/n", "1").press("answer:approve")); a.status != 303 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	q := l.answers[0]
	data := q.Data.(map[string]any)
	if data["scan"].(map[string]any)["name"] != "better.png" || len(data["more"].([]any)) != 1 || len(q.Files) != 2 || len(q.Uploads) != 6 {
		t.Errorf("answered %s with files %v, and may use %v", value.Marshal(q.Data), q.Files, q.Uploads)
	}
	// What is not there any more is said.
	sheet = wantTask(t, serve(s, sheet.press("check")), 200)
	l.stored = nil
	wantTask(t, serve(s, sheet.press("check")), 422, "was uploaded more than a day ago")
	// Of one file the last one counts.
	l.request.Upload.Max = 1
	sheet = wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
	sheet = wantTask(t, serve(s, sheet.attach("upload:files", "a.pdf", "1").press("check")), 200, "Instead, another file")
	sheet = wantTask(t, serve(s, sheet.attach("upload:files", "b.pdf", "2").press("check")), 200, "b.pdf")
	if len(sheet.values("files")) != 1 {
		t.Errorf("%v", sheet.fields)
	}
}

// deleted are the fields without those of a name.
func deleted(fields []entered, name string) (rest []entered) {
	for _, f := range fields {
		if f.name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

// TestTaskPageRefusesFiles: with the reason at the file; all else that was entered stays.
func TestTaskPageRefusesFiles(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		part   string
	}{
		{chargehand.NewError(chargehand.CodeAnswerInvalid, "x", chargehand.FieldError{Pointer: "/files", Code: "not_accepted"}), 422, "&lt;i&gt;.exe is not of the kind"},
		{chargehand.NewError(chargehand.CodePayloadTooLarge, "x"), 422, "may have 1.1 GB"}, {chargehand.NewError(chargehand.CodeStorageReserve, "x"), 422, "the server has no room"},
		{&chargehand.Error{Code: chargehand.CodeQuotaExceeded, Detail: "x", Quota: &chargehand.Quota{Name: "storage_bytes", OwnerKind: "environment"}}, 422, "the server has no room"},
		{&chargehand.Error{Code: chargehand.CodeQuotaExceeded, Detail: "x", Quota: &chargehand.Quota{Name: "key_storage_bytes", OwnerKind: "user"}}, 422, "the sender of this link has no room"},
		{chargehand.NewError(chargehand.CodeStateConflict, "x"), 422, "No more files"}, {chargehand.NewError(chargehand.CodeInvalidParameter, "x"), 422, "255 bytes"},
		{errors.New("disk on fire"), 500, "reload this page"},
	} {
		l := asking(t, `{type: object, properties: {a: {type: string}}}`, nil)
		l.request.Upload = &human.Upload{Max: 3}
		l.upload = func(service.LinkUpload) error { return c.err }
		s, f := linkServer(l)
		f.limits.UploadBytes = 2 << 30
		s.limits = f.limits
		sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
		again := wantTask(t, serve(s, sheet.attach("upload:files", "<i>.exe", strings.Repeat("x", 100_000)).fill("in/a", "typed").press("answer:approve")), c.status, c.part)
		if len(l.answers) > 0 || c.status == 422 && again.values("in/a")[0] != "typed" {
			t.Errorf("%v: %d answers, %v", c.err, len(l.answers), again)
		}
	}
}

// TestTaskPageRefusesForms: those that no page of ours sends, and those that are too large.
func TestTaskPageRefusesForms(t *testing.T) {
	l := asking(t, `{type: object, properties: {a: {type: string}}}`, nil)
	s, _ := linkServer(l)
	const form = "multipart/form-data; boundary=b"
	part := func(name, text string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + text + "\r\n"
	}
	answer := part("do", "answer:approve")
	for name, c := range map[string]struct {
		media, body string
		headers     []string
		status      int
	}{
		"urlencoded":                    {"application/x-www-form-urlencoded", "do=answer%3Aapprove", nil, 415},
		"JSON":                          {"application/json", `{"do":"answer:approve"}`, nil, 415},
		"no type":                       {"", answer + "--b--", nil, 415},
		"packed":                        {form, answer + "--b--", []string{"Content-Encoding", "gzip"}, 415},
		"no boundary":                   {"multipart/form-data", answer + "--b--", nil, 400},
		"cut off":                       {form, answer, nil, 400},
		"no form":                       {form, "do=answer:approve", nil, 400},
		"another site":                  {form, answer + "--b--", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test"}, 403},
		"another origin":                {form, answer + "--b--", []string{"Sec-Fetch-Site", "", "Origin", "https://evil.test"}, 403},
		"no part":                       {form, "--b--", nil, 200},
		"no button":                     {form, part("comment", "x") + "--b--", nil, 200},
		"a strange button":              {form, part("do", "answer") + "--b--", nil, 200},
		"another button":                {form, part("do", "delete:all") + "--b--", nil, 200},
		"nothing to add to":             {form, part("do", "add:/a") + "--b--", nil, 200},
		"nothing to remove":             {form, part("do", "remove:/a/~e99999999999999999999") + "--b--", nil, 200},
		"a long name of a file's field": {form, part(`upload:in/`+strings.Repeat("/", 2*maxTaskTexts)+`"; filename="f`, "x") + answer + "--b--", nil, 413},
		"a long name of a file":         {form, part(`upload:files"; filename="`+strings.Repeat("f", 2*maxTaskTexts), "x") + answer + "--b--", nil, 413},
		"a long text":                   {form, part("in/a", strings.Repeat("x", maxTaskTexts)) + answer + "--b--", nil, 413},
		"long names":                    {form, strings.Repeat(part("in/"+strings.Repeat("x", 1000), ""), 1100) + answer + "--b--", nil, 413},
		"many texts":                    {form, strings.Repeat(part("in/a", "x"), draft.MaxTexts+1) + answer + "--b--", nil, 413},
		"many other parts":              {form, strings.Repeat(part("x", "x"), maxTaskParts) + answer + "--b--", nil, 413},
		"deep names":                    {form, part("in"+strings.Repeat("/x", 5000), "x") + "--b--", nil, 200},
		"bytes that no text":            {form, part("in/a", "\xff\xfe\x00") + "--b--", nil, 200},
	} {
		headers := append([]string{"Content-Type", c.media}, c.headers...)
		a := serve(s, taskRequest("POST", pathLink, c.body, headers...))
		if wantTask(t, a, c.status); len(l.answers) > 0 {
			t.Fatalf("%s: the task was answered", name)
		}
		if t.Failed() {
			t.Fatalf("%s: %d\n%s", name, a.status, a.body)
		}
	}
	large := taskRequest("POST", pathLink, "", "Content-Type", form)
	large.ContentLength = maxTaskForm + 1
	wantTask(t, serve(s, large), 413, "Go back, and send less")
	elsewhere := taskRequest("GET", pathLink, "")
	elsewhere.RemoteAddr = "192.0.2.7:5"
	wantTask(t, serve(s, elsewhere), 403, "https")
	same := taskRequest("GET", pathLink, "")
	serve(s, same)
	for address := range s.entrance.rate.buckets { // they have asked until an hour from now
		s.entrance.rate.buckets[address] = bucket{at: time.Now().Add(time.Hour)}
	}
	wantTask(t, serve(s, same), 429, "Too many requests")
	s, _ = linkServer(&fakeLink{find: errors.New("disk on fire")})
	wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 500, "That did not work")
	standby := New(Config{})
	wantTask(t, serve(standby, taskRequest("GET", pathLink, "")), 503, "standby")
}

// TestHostileTaskPage: what a workflow or a file says is shown as text.
func TestHostileTaskPage(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	l := asking(t, `{type: object, title: '`+hostile+`', properties: {'`+hostile+`': {type: string, title: '`+hostile+`', description: '`+hostile+`', pattern: '`+hostile+`'}, e: {enum: ['`+hostile+`'], title: E}}}`,
		map[string]any{hostile: hostile})
	l.request.Show = map[string]any{hostile: []any{hostile, nil, true, 1.5, map[string]any{"uri": "javascript:alert(1)"}, map[string]any{}, []any{}, ""}}
	l.request.Outcomes = []human.Outcome{{Name: hostile, Title: hostile, Style: "primary"}}
	l.files = []service.File{{Name: hostile, URL: "/api/v1/files/1/content", ContentType: "image/png"}, {Name: "page.html", URL: "/api/v1/files/2/content", ContentType: "text/html"}}
	s, _ := linkServer(l)
	a := serve(s, taskRequest("GET", pathLink, ""))
	sheet := wantTask(t, a, 200, `<img src="/api/v1/files/1/content"`)
	again := serve(s, sheet.fill("comment", hostile+"</textarea>"+hostile).press("check"))
	for _, text := range []string{string(a.body), string(again.body)} {
		if strings.Contains(text, "<script") || strings.Contains(text, "<img src=x") || strings.Contains(text, `="javascript:`) || strings.Contains(text, `src="/api/v1/files/2`) {
			t.Errorf("the page has what was written:\n%s", text)
		}
	}
	if a := serve(s, sheet.press("answer:"+hostile)); a.status != 303 || l.answers[0].Outcome != hostile || l.answers[0].Data.(map[string]any)[hostile] != hostile {
		t.Errorf("%d, %+v", a.status, l.answers)
	}
}
