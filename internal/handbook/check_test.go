package handbook

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chargehand/chargehand/internal/servertest"
)

// definitionKinds are the blocks that package conformance runs.
var definitionKinds = []string{"workflow", "definition", "file", "secret", "input", "event", "warnings", "output", "error", "problems", "run"}

// TestEveryBlockIsTested finds blocks that no test knows what to do with.
func TestEveryBlockIsTested(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			if !known(b) {
				t.Errorf("%s, line %d: no test knows a block %q (see the package comment of internal/handbook)",
					page.Name, b.Line, strings.TrimSpace(b.Language+" "+b.Kind+" "+b.Name))
			}
		}
	}
}

func known(b Block) bool {
	switch {
	case b.Kind == "save":
		return b.Name != ""
	case b.Kind == "sample":
		return b.Language == "json" || b.Language == "yaml"
	case b.Kind == "elsewhere":
		return slices.Contains([]string{"sh", "yaml", "json", "ini", "dockerfile", "text"}, b.Language)
	case b.Language == "sh":
		return isRun(b) && (b.Kind == "exit") == (b.Name != "")
	case b.Language == "text":
		return b.Kind == "" || b.Kind == "output"
	case b.Language == "mermaid":
		return b.Kind == ""
	}
	return slices.Contains(definitionKinds, b.Kind)
}

// TestBlocksElsewhere checks what the tests cannot run: its syntax, and what is ours in it.
func TestBlocksElsewhere(t *testing.T) {
	commands := commandsOf(t)
	makefile, err := os.ReadFile(filepath.Join(servertest.Root(), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := string(makefile)
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			elsewhere := b.Kind == "elsewhere" || b.Kind == "sample" || page.Generated && b.Language == "sh"
			if !elsewhere {
				continue
			}
			if err := checkSyntax(t, b); err != nil {
				t.Errorf("%s, line %d: %v", page.Name, b.Line, err)
			}
			for _, words := range invocations(b) {
				if err := commands.check(words); err != nil {
					t.Errorf("%s, line %d: %q: %v", page.Name, b.Line, strings.Join(words, " "), err)
				}
			}
			for _, found := range makeLine.FindAllStringSubmatch(b.Text, -1) {
				if !strings.Contains(targets, "\n"+found[1]+":") {
					t.Errorf("%s, line %d: there is no target %s", page.Name, b.Line, found[1])
				}
			}
		}
	}
}

var makeLine = regexp.MustCompile(`(?m)^make ([a-z/]+)`)

func checkSyntax(t *testing.T, b Block) error {
	switch b.Language {
	case "sh":
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(b.Text)
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.New(string(out))
		}
	case "json":
		if !json.Valid([]byte(b.Text)) {
			return errors.New("it is not JSON")
		}
	case "yaml":
		_, err := documents(b.Text)
		return err
	case "ini":
		return checkUnit(t, b)
	}
	return nil
}

// documents are the documents of a stream of YAML.
func documents(text string) (list []any, err error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var v any
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

var installed = regexp.MustCompile(`/usr/local/bin/chargehand\b`)

// checkUnit has systemd judge a unit, where there is one.
func checkUnit(t *testing.T, b Block) error {
	if _, err := exec.LookPath("systemd-analyze"); err != nil || !strings.Contains(b.Text, "ExecStart=") {
		return nil
	}
	unit := filepath.Join(t.TempDir(), "page.service")
	text := installed.ReplaceAllString(b.Text, servertest.Binary(t))
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		return err
	}
	// A setting that systemd does not know is a line with the name of the unit, and no failure.
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), "page.service") {
		return errors.New("systemd-analyze: " + string(out))
	}
	return nil
}

// invocations are the commands of ours in a block, as words; the first one is the name of a command.
func invocations(b Block) (list [][]string) {
	switch b.Language {
	case "yaml":
		all, _ := documents(b.Text)
		for _, v := range all {
			eachList(v, func(words []string) { list = append(list, words) })
		}
		return list
	case "dockerfile":
		for _, found := range regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindAllStringSubmatch(b.Text, -1) {
			var words []string
			if json.Unmarshal([]byte(found[1]), &words) == nil {
				list = append(list, words)
			}
		}
		return list
	}
	return shellInvocations(b.Text)
}

// eachList visits the lists of texts that stand under the names of commands in manifests.
func eachList(v any, visit func([]string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			list, isList := value.([]any)
			if !isList || !slices.Contains([]string{"args", "command", "test"}, name) {
				eachList(value, visit)
				continue
			}
			var words []string
			for _, each := range list {
				word, _ := each.(string)
				words = append(words, word)
			}
			if len(words) > 0 && words[0] == "CMD" { // of a check of health
				words = words[1:]
			}
			if len(words) > 0 && filepath.Base(words[0]) == "chargehand" {
				words = words[1:]
			}
			visit(words)
		}
	case []any:
		for _, each := range v {
			eachList(each, visit)
		}
	}
}

var (
	continued = regexp.MustCompile(`\\\n\s*`)
	comment   = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	ending    = regexp.MustCompile(`[|;&<>()\n]`)
	before    = regexp.MustCompile(`^((sudo|exec|nohup|time|if|while|until|do|then|!|-u \S+|systemd-run(\s+--\S+)*|[A-Z_]+=\S*)\s+)+|^ExecStart=`)
	quoted    = regexp.MustCompile(`'[^']*'|"[^"]*"`)
)

// shellInvocations finds our commands in lines for a shell and in units of systemd. What is quoted is one
// word.
func shellInvocations(text string) (list [][]string) {
	text = continued.ReplaceAllString(text, " ")
	text = quoted.ReplaceAllString(text, "QUOTED")
	text = comment.ReplaceAllString(text, "")
	for _, part := range ending.Split(text, -1) {
		part = before.ReplaceAllString(strings.TrimSpace(part), "")
		words := strings.Fields(part)
		if len(words) > 0 && (words[0] == "chargehand" || strings.HasSuffix(words[0], "/bin/chargehand")) {
			list = append(list, words[1:])
		}
	}
	return list
}

// commands are the flags of each command, such as "workflows apply".
type commands map[string][]string

var (
	commandHead = regexp.MustCompile(`(?m)^### chargehand (.*)$`)
	commandFlag = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([a-z-]+)`)
)

// commandsOf reads them from the generated page, which another test holds to the program.
func commandsOf(t *testing.T) commands {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(servertest.Root(), "docs", "reference", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	list := commands{}
	heads := commandHead.FindAllStringSubmatchIndex(page, -1)
	for i, head := range heads {
		end := len(page)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		var flags []string
		for _, found := range commandFlag.FindAllStringSubmatch(page[head[1]:end], -1) {
			flags = append(flags, "--"+found[2])
			if found[1] != "" {
				flags = append(flags, "-"+found[1])
			}
		}
		list[page[head[2]:head[3]]] = flags
	}
	if len(list["serve"]) < 30 {
		t.Fatalf("the page of commands is read wrongly: %v", list)
	}
	return list
}

// check reports a command that does not exist, or a flag that it does not have.
func (c commands) check(words []string) error {
	n := len(words)
	for ; n > 0; n-- {
		if _, ok := c[strings.Join(words[:n], " ")]; ok {
			break
		}
	}
	if n == 0 {
		if slices.Contains([]string{"help", "completion", "--version", "--help"}, append(words, "")[0]) {
			return nil
		}
		return errors.New("there is no such command")
	}
	flags := c[strings.Join(words[:n], " ")]
	if flags == nil {
		return errors.New("a group of commands does nothing")
	}
	for _, word := range words[n:] {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(name, "-") && len(name) > 1 && !slices.Contains(flags, name) {
			return errors.New("there is no flag " + name)
		}
	}
	return nil
}

var (
	flagInProse = regexp.MustCompile("`(?:chargehand [a-z ]*)?(--[a-z][a-z-]+)")
	variable    = regexp.MustCompile(`\bCHARGEHAND_[A-Z_]*[A-Z]\b`)
)

// otherFlags belong to other programs that pages name.
var otherFlags = []string{"--key", "--user"}

// TestSettingsOfPages finds flags in the text of pages, and variables anywhere in them, that do not exist.
func TestSettingsOfPages(t *testing.T) {
	all := map[string]bool{}
	for _, flags := range commandsOf(t) {
		for _, flag := range flags {
			all[flag] = true
		}
	}
	variables := map[string]bool{"CHARGEHAND_URL": true, "CHARGEHAND_API_KEY": true, "CHARGEHAND_UI": true} // of make
	for flag := range maps.Keys(all) {
		variables["CHARGEHAND_"+strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_"))] = true
	}
	for _, page := range pages(t) {
		prose := page.Text
		for _, found := range flagInProse.FindAllStringSubmatch(prose, -1) {
			if !all[found[1]] && !slices.Contains(otherFlags, found[1]) {
				t.Errorf("%s: there is no flag %s", page.Name, found[1])
			}
		}
		for _, name := range variable.FindAllString(page.Text, -1) {
			if !variables[name] {
				t.Errorf("%s: no setting has the variable %s", page.Name, name)
			}
		}
	}
}

// TestDiagrams finds diagrams that no viewer draws: of an unknown kind, or with brackets that do not match.
func TestDiagrams(t *testing.T) {
	kinds := regexp.MustCompile(`^(flowchart (TD|LR|TB)|sequenceDiagram|stateDiagram-v2)\n`)
	for _, page := range pages(t) {
		for _, b := range page.Blocks {
			if b.Language != "mermaid" {
				continue
			}
			if !kinds.MatchString(b.Text) {
				t.Errorf("%s, line %d: the kind of diagram is not known", page.Name, b.Line)
			}
			for i, line := range strings.Split(b.Text, "\n") {
				for _, pair := range []string{"[]", "()", "{}"} {
					if strings.Count(line, pair[:1]) != strings.Count(line, pair[1:]) {
						t.Errorf("%s, line %d: %s do not match", page.Name, b.Line+i+1, pair)
					}
				}
				if strings.Count(line, `"`)%2 != 0 {
					t.Errorf("%s, line %d: a quote does not end", page.Name, b.Line+i+1)
				}
			}
		}
	}
}

// TestChecks holds the checks of pages to what they are for.
func TestChecks(t *testing.T) {
	for text, good := range map[string]bool{
		"a b":           true,
		"b":             true,
		"b\na":          false,
		"x":             false,
		"a … z\nb":      false,
		"a … c\n…\nb":   true,
		"a  b  c\n\n  ": true,
	} {
		if err := shows("first\na b c\na b\nb\n", text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
	c := commandsOf(t)
	for line, good := range map[string]bool{
		"chargehand serve --data-dir /x --listen=:80 &":                  true,
		"sudo -u chargehand chargehand keys create --preset all":         true,
		"KEY=$(chargehand keys create --nosuch)":                         false,
		"ExecStart=/usr/local/bin/chargehand serve --config /etc/x.yaml": true,
		"ExecStart=/usr/local/bin/chargehand server":                     false,
		"chargehand workflows apply a.yaml | grep -v x":                  true,
		"chargehand run a/b --input '{\"a\": \"--nosuch\"}' # --nosuch":  true,
		"chargehand backup --data-dir /x \\\n  --nosuch /y":              false,
		"chargehand batch a/b --items x.csv -o jsonl > out --nosuch":     true,
		"sudo systemd-run --pipe --uid=x chargehand backup --nosuch":     false,
		"chargehand keys":               false,
		"cd chargehand":                 true,
		"docker run chargehand:1 serve": true,
	} {
		var err error
		for _, words := range shellInvocations(line) {
			err = errors.Join(err, c.check(words))
		}
		if (err == nil) != good {
			t.Errorf("%q: %v", line, err)
		}
	}
	manifest := "spec: {containers: [{args: [serve, --nosuch]}]}\n"
	for _, words := range invocations(Block{Language: "yaml", Text: manifest}) {
		if c.check(words) == nil {
			t.Errorf("%v is taken", words)
		}
	}
	for name, text := range map[string]string{"no end": "```sh\nls\n", "indented": "- a\n  ```sh\n  ls\n  ```\n"} {
		if _, err := Blocks(text); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
