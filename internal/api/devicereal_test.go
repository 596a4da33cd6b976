package api_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/app/apptest"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/peer"
)

var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)
	errorText   = regexp.MustCompile(`role="alert">.*<span>([^<]*)</span>`)
)

// submit sends a form of the page /device as a browser does, and returns the answer with the hidden fields of its form.
func submit(t *testing.T, i *installation, cookie string, fields map[string]string, headers ...string) (status int, text string, hidden map[string]string, setCookie string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	method := http.MethodPost
	if fields == nil {
		method, body = http.MethodGet, bytes.Buffer{}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, i.base+"/device", &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for n := 0; n+1 < len(headers); n += 2 {
		r.Header.Set(headers[n], headers[n+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if policy := answer.Header.Get("Content-Security-Policy"); answer.StatusCode != http.StatusSeeOther && !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %q", policy)
	}
	hidden = map[string]string{}
	for _, found := range hiddenField.FindAllStringSubmatch(string(page), -1) {
		hidden[found[1]] = found[2]
	}
	setCookie, _, _ = strings.Cut(answer.Header.Get("Set-Cookie"), ";")
	return answer.StatusCode, string(page), hidden, setCookie
}

// driveDevice lets a program get keys: the person types its code on the page and confirms.
func driveDevice(t *testing.T, i *installation, cookie string, do func(operation, method, path, body string, status int) api.Exchange) {
	t.Helper()
	ask := func(body string) (device, code string) {
		t.Helper()
		x := do("startDevice", "POST", "/api/v1/device", body, 200)
		if x.AnswerJSON["verification_uri"] != i.base+"/device" {
			t.Errorf("codes: %s", x.AnswerBody)
		}
		return x.AnswerJSON["device_code"].(string), x.AnswerJSON["user_code"].(string)
	}
	token := func(device string, status int, code string) api.Exchange {
		t.Helper()
		x := do("redeemDevice", "POST", "/api/v1/device/token", `{"device_code":"`+device+`"}`, status)
		if code != "" && x.AnswerJSON["code"] != code {
			t.Errorf("%s, want %s", x.AnswerBody, code)
		}
		return x
	}
	device, code := ask(`{"name":"<b>chargehand</b> on laptop"}`)
	token(device, 400, "authorization_pending")
	token(device, 400, "slow_down")

	// Without a session, the page asks to sign in. An address never fills the code in.
	if status, text, hidden, _ := submit(t, i, "", nil); status != 200 || hidden["step"] != "sign-in" || strings.Contains(text, `name="code"`) {
		t.Errorf("without a session: %d\n%s", status, text)
	}
	if status, _, _, _ := submit(t, i, "", map[string]string{"step": "code", "code": code}); status != 401 {
		t.Errorf("a code without a session: %d", status)
	}
	status, _, _, other := submit(t, i, "", map[string]string{"step": "sign-in", "email": "ada@example.com", "password": "four other words in a row"})
	if status != 303 || other == "" {
		t.Fatalf("sign-in on the page: %d, %q", status, other)
	}
	if status, _, hidden, _ := submit(t, i, cookie, nil); status != 200 || hidden["step"] != "code" {
		t.Errorf("with a session: %d, %v", status, hidden)
	}
	if status, text, _, _ := submit(t, i, cookie, map[string]string{"step": "code", "code": "BCDF-GHJK"}); status != 401 || errorText.FindStringSubmatch(text) == nil {
		t.Errorf("a wrong code: %d\n%s", status, text)
	}
	status, text, hidden, _ := submit(t, i, cookie, map[string]string{"step": "code", "code": strings.ToLower(code)})
	if status != 200 || hidden["form"] == "" || !strings.Contains(text, "&lt;b&gt;chargehand") || strings.Contains(text, "<b>") || !strings.Contains(text, "ada@example.com") {
		t.Fatalf("the code: %d\n%s", status, text)
	}

	// Neither a page of another site nor another session confirms it.
	confirm := map[string]string{"step": "confirm", "code": hidden["code"], "form": hidden["form"], "answer": "allow"}
	if status, _, _, _ := submit(t, i, cookie, confirm, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test"); status != 403 {
		t.Errorf("another site: %d", status)
	}
	if status, _, _, _ := submit(t, i, other, confirm); status != 401 {
		t.Errorf("another session: %d", status)
	}
	if status, _, _, _ := submit(t, i, cookie, map[string]string{"step": "confirm", "code": hidden["code"], "form": "x", "answer": "allow"}); status != 401 {
		t.Errorf("another form: %d", status)
	}
	if status, text, _, _ := submit(t, i, cookie, confirm); status != 200 || !strings.Contains(text, "The program is connected") {
		t.Fatalf("allowed: %d\n%s", status, text)
	}
	x := token(device, 200, "")
	keys := x.AnswerJSON["keys"].([]any)
	if len(keys) != 2 || x.AnswerJSON["user"].(map[string]any)["email"] != "ada@example.com" {
		t.Fatalf("keys: %s", x.AnswerBody)
	}
	token(device, 400, "expired_token")
	live := keys[0].(map[string]any)
	if live["environment"] != "live" || live["expires_at"] == nil {
		t.Errorf("key: %v", live)
	}
	i.Do(t, live["key"].(string), api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})

	if slices.Contains(live["scopes"].([]any), any("admin")) {
		t.Errorf("a program that has not asked for it got the rights of an admin: %v", live)
	}
	if strings.Contains(text, "act as an admin") {
		t.Errorf("the page warns of what was not asked for:\n%s", text)
	}

	device, code = ask(`{"name":"x","environments":["test","test"],"admin":true}`)
	_, text, hidden, _ = submit(t, i, cookie, map[string]string{"step": "code", "code": code})
	if !strings.Contains(text, "Allow this program to act as an admin?") {
		t.Errorf("asked for the rights of an admin:\n%s", text)
	}
	if status, text, _, _ := submit(t, i, cookie, map[string]string{"step": "confirm", "code": hidden["code"], "form": hidden["form"], "answer": "refuse"}); status != 200 || !strings.Contains(text, "was refused") {
		t.Errorf("refused: %d\n%s", status, text)
	}
	token(device, 400, "access_denied")
	token("x", 400, "expired_token")
}

// TestDeviceOnPostgres: the same flow with its rows in PostgreSQL.
func TestDeviceOnPostgres(t *testing.T) {
	cfg := app.Config{Listen: "127.0.0.1:0"}
	cfg.DataDir, cfg.FilesURL, cfg.MasterKeyFile = t.TempDir(), "file://"+t.TempDir(), apptest.MasterFile(t)
	cfg.DatabaseURL = peer.StartPostgres(t, peer.PostgresOptions{Careless: true}).NewDatabase(t)
	i := installAt(t, cfg)
	secret, err := operate.SetupToken(t.Context(), cfg.Settings, "")
	if err != nil {
		t.Fatal(err)
	}
	do := func(operation, method, path, body string, status int) api.Exchange {
		t.Helper()
		return i.Do(t, "", api.Exchange{Operation: operation, Method: method, Path: path, Body: body, Status: status, Keyless: true})
	}
	x := do("setUp", "POST", "/api/v1/setup", `{"token":"`+secret+`","name":"Ada","email":"ada@example.com","password":"four other words in a row"}`, 201)
	cookie, _, _ := strings.Cut(x.AnswerHeader.Get("Set-Cookie"), ";")
	driveDevice(t, i, cookie, do)
}
