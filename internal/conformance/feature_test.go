package conformance

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gherkin "github.com/cucumber/gherkin/go/v26"
	messages "github.com/cucumber/messages/go/v21"
)

// feature is one scenario of a feature file, with its background.
type feature struct {
	file  string // base name
	name  string // unique in the file
	tags  []string
	steps []featureStep
}

type featureStep struct {
	text      string
	docString string
}

func (f *feature) has(tag string) bool { return slices.Contains(f.tags, tag) }

// mentions reports whether a step has a word in its text.
func (f *feature) mentions(word string) bool {
	return slices.ContainsFunc(f.steps, func(s featureStep) bool { return strings.Contains(s.text+s.docString, word) })
}

// title names the scenario in tests.
func (f *feature) title() string {
	return strings.TrimSuffix(f.file, ".feature") + "/" + strings.ReplaceAll(f.name, " ", "_")
}

// readFeatures reads the scenarios of all feature files in a folder.
func readFeatures(t testing.TB, dir string) []*feature {
	t.Helper()
	var all []*feature
	seen := map[string]int{}
	number := 0
	id := func() string { number++; return fmt.Sprint(number) }
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".feature") {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		document, err := gherkin.ParseGherkinDocument(file, id)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, pickle := range gherkin.Pickles(*document, path, id) {
			f := &feature{file: filepath.Base(path), name: pickle.Name}
			if seen[f.title()]++; seen[f.title()] > 1 {
				f.name = fmt.Sprintf("%s (%d)", f.name, seen[f.title()])
			}
			for _, tag := range pickle.Tags {
				f.tags = append(f.tags, tag.Name)
			}
			for _, step := range pickle.Steps {
				f.steps = append(f.steps, stepOf(step))
			}
			all = append(all, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func stepOf(step *messages.PickleStep) featureStep {
	s := featureStep{text: step.Text}
	if step.Argument != nil && step.Argument.DocString != nil {
		s.docString = step.Argument.DocString.Content
	}
	return s
}

// run takes the steps of a scenario one after another.
func (f *feature) run(s *scenario) error {
	for i := range f.steps {
		step := &f.steps[i]
		done, err := s.step(step)
		if err != nil {
			return fmt.Errorf("%s: %w", step.text, err)
		}
		if !done {
			return fmt.Errorf("unknown step %q", step.text)
		}
	}
	return nil
}

// definition is a step's text and what it does. The groups of the text and then the doc
// string, where there is one, are its arguments.
type definition struct {
	text *regexp.Regexp
	do   func(s *scenario, args []string) error
}

func on(text string, do func(s *scenario, args []string) error) definition {
	return definition{regexp.MustCompile(`^` + text + `$`), do}
}

// step finds the definition of a step and carries it out.
func (s *scenario) step(step *featureStep) (found bool, err error) {
	for _, d := range slices.Concat(definitions, flowDefinitions, humanDefinitions, recordingDefinitions) {
		if match := d.text.FindStringSubmatch(step.text); match != nil {
			return true, d.do(s, append(match[1:], step.docString))
		}
	}
	return false, nil
}
