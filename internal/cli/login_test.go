package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// person is one who has signed in with a browser.
type person struct {
	t      *testing.T
	server *servertest.Server
	cookie string
}

// firstAdmin sets a server up.
func firstAdmin(t *testing.T, server *servertest.Server) *person {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(server.DataDir, "setup-token"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(map[string]string{"token": strings.TrimSpace(string(token)), "name": "Ada", "email": "ada@example.com", "password": "four words in a row"})
	answer, err := http.Post(server.URL+"/api/v1/setup", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	cookie, _, _ := strings.Cut(answer.Header.Get("Set-Cookie"), ";")
	if answer.StatusCode != http.StatusCreated || cookie == "" {
		t.Fatalf("set-up: %s", answer.Status)
	}
	return &person{t, server, cookie}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// submit sends a form of the page /device and returns the hidden fields of the next one.
func (p *person) submit(fields map[string]string) map[string]string {
	p.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		p.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.server.URL+"/device", &body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Cookie", p.cookie)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.t.Fatalf("%s\n%s", answer.Status, page)
	}
	next := map[string]string{}
	for _, found := range hidden.FindAllStringSubmatch(string(page), -1) {
		next[found[1]] = found[2]
	}
	return next
}

// login runs chargehand login, and lets the person answer allow or refuse. It returns the exit code and what was said.
func (p *person) login(answer string, args ...string) (code int, said string) {
	p.t.Helper()
	out, in := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- Run(append([]string{"login"}, args...), strings.NewReader(""), io.Discard, in)
		in.Close()
	}()
	typed := regexp.MustCompile(`^  ([A-Z]{4}-[A-Z]{4})$`)
	lines := bufio.NewScanner(out)
	var all strings.Builder
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if found := typed.FindStringSubmatch(lines.Text()); found != nil {
			form := p.submit(map[string]string{"step": "code", "code": strings.ToLower(found[1])})
			p.submit(map[string]string{"step": form["step"], "code": form["code"], "form": form["form"], "answer": answer})
		}
	}
	return <-done, all.String()
}

// run runs a command and returns what it printed.
func run(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	if code := Run(args, strings.NewReader(""), &out, &err); code != want {
		t.Errorf("%v: exit %d\n%s%s", args, code, &out, &err)
	}
	return out.String(), err.String()
}

func TestLoginWithACode(t *testing.T) {
	server := servertest.Start(t, servertest.Options{})
	config := t.TempDir()
	for name, value := range map[string]string{
		"XDG_CONFIG_HOME": config, "HOME": config, "CHARGEHAND_URL": "", "CHARGEHAND_API_KEY": "", "CHARGEHAND_CONTEXT": "", "CHARGEHAND_ENVIRONMENT": "",
	} {
		t.Setenv(name, value)
	}
	ada := firstAdmin(t, server)
	code, said := ada.login("allow", server.URL+"/", "--context", "plain")
	if code != ExitDone {
		t.Fatalf("exit %d\n%s", code, said)
	}
	if _, refused := run(t, ExitUnreachable, "users", "list"); !strings.Contains(refused, "chargehand login --admin") {
		t.Errorf("an admin who has not asked for an admin's keys:\n%s", refused)
	}
	run(t, ExitDone, "context", "delete", "plain", "--yes")
	code, said = ada.login("allow", server.URL+"/", "--context", "mine", "--admin")
	if code != ExitDone || !strings.Contains(said, "Open "+server.URL+"/device in a browser") || !strings.Contains(said, "signed in as ada@example.com in the account default, with keys of live and test") {
		t.Fatalf("exit %d\n%s", code, said)
	}
	saved, err := readContexts()
	if err != nil || saved.Current != "mine" || len(saved.Named["mine"].Keys) != 2 || saved.Named["mine"].User != "ada@example.com" {
		t.Fatalf("%+v, %v", saved, err)
	}
	first := saved.Named["mine"]
	if ends := first.Keys["live"].ExpiresAt; ends == nil {
		t.Error("the key does not end")
	}
	if shown, _ := run(t, ExitDone, "context", "show"); strings.Contains(shown, first.Keys["live"].Key) || !strings.Contains(shown, "ada@example.com") {
		t.Error(shown)
	}
	if users, _ := run(t, ExitDone, "users", "list"); !strings.Contains(users, "ada@example.com") {
		t.Error(users)
	}
	if own, _ := run(t, ExitDone, "keys", "list", "--personal"); !strings.Contains(own, "chargehand on") {
		t.Error(own)
	}
	run(t, ExitUnreachable, "users", "list", "--environment", "test") // users belong to both environments
	run(t, ExitDone, "workflows", "list", "--environment", "test")

	// A second login takes the place of the first, whose keys end.
	if code, said = ada.login("allow", server.URL, "--context", "mine", "--environment", "test"); code != ExitDone || !strings.Contains(said, "with keys of test\n") {
		t.Errorf("exit %d\n%s", code, said)
	}
	for _, k := range first.Keys {
		if a := server.Do(t, "GET", "/workflows", "", "X-Api-Key", k.Key); a.Status != http.StatusUnauthorized {
			t.Errorf("a key of the first login: %d", a.Status)
		}
	}
	run(t, ExitDone, "workflows", "list")
	run(t, ExitUnreachable, "workflows", "list", "--environment", "live")

	if code, said = ada.login("refuse", server.URL, "--context", "other"); code != ExitUnreachable || !strings.Contains(said, "access_denied") {
		t.Errorf("refused: exit %d\n%s", code, said)
	}
	if saved, err = readContexts(); err != nil || len(saved.Named) != 1 {
		t.Errorf("%+v, %v", saved, err)
	}
	last := saved.Named["mine"].Keys["test"]
	run(t, ExitDone, "context", "delete", "mine", "--yes")
	if a := server.Do(t, "GET", "/workflows", "", "X-Api-Key", last.Key); a.Status != http.StatusUnauthorized {
		t.Errorf("a key of a context that is deleted: %d", a.Status)
	}
	run(t, ExitUsage, "login", server.URL, "--key", "-", "--admin")
	_, said = run(t, ExitUsage, "login", server.URL, "--key", last.Key)
	if strings.Contains(said, last.Key) {
		t.Error("an error repeats a key")
	}
}
