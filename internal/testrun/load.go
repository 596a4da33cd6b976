package testrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testfile"
)

// suite is a test file with what it needs.
type suite struct {
	runner *Runner
	path   string
	file   *testfile.File
	root   *unit
	units  map[string]*unit // by path
	cases  []*testCase
	result *File

	mu        sync.Mutex // guards snapshots
	snapshots *snapshots // nil: the file is wrong
}

// Suffix is what the names of test files end with; those in JSON end with .test.json, and .test.yml is known, too.
const Suffix = ".test.yaml"

var suffixes = []string{Suffix, ".test.yml", ".test.json"}

// IsTestFile reports whether a path names a test file.
func IsTestFile(path string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) && len(filepath.Base(path)) > len(s) })
}

// BelongsToTests reports whether a path names a file of tests or of their snapshots, which is no definition.
func BelongsToTests(path string) bool {
	return IsTestFile(path) || strings.HasSuffix(path, snapshotSuffix) && len(filepath.Base(path)) > len(snapshotSuffix)
}

// load reads a test file, and compiles what it names. What is wrong is in the problems of the result.
func (r *Runner) load(ctx context.Context, path string) *suite {
	s := &suite{runner: r, path: path, units: map[string]*unit{}, result: &File{Path: path}}
	data, err := r.ReadFile(path)
	if err != nil {
		s.wrong(path, 1, 1, "file_unreadable", "The file cannot be read: "+reason(err)+".")
		return s
	}
	file, problems := testfile.Read(data)
	s.report(path, problems)
	if file == nil {
		return s
	}
	s.file = file
	definition := file.Workflow
	if definition == "" {
		definition = s.besides()
	} else {
		definition = s.beside(definition)
	}
	s.result.Definition = definition
	if s.root = s.unit(ctx, definition, file.Position("/workflow")); s.root == nil {
		return s
	}
	s.result.Namespace, s.result.Name = s.root.doc.Namespace, s.root.doc.Name
	if len(s.result.Problems) == 0 {
		s.link(ctx)
		s.readSnapshots()
	}
	slices.SortStableFunc(s.result.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return s
}

// besides is the definition of the name of the test file: NAME.yaml, or whatever of .yml and .json there is.
func (s *suite) besides() string {
	base := s.path
	for _, suffix := range suffixes {
		base = strings.TrimSuffix(base, suffix)
	}
	for _, ending := range []string{".yaml", ".yml", ".json"} {
		if _, err := s.runner.ReadFile(base + ending); err == nil {
			return base + ending
		}
	}
	return base + ".yaml"
}

// beside is a path that the test file names.
func (s *suite) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.path), filepath.FromSlash(path))
}

// unit compiles a definition once. nil: it cannot be, and the problems say why.
func (s *suite) unit(ctx context.Context, path string, named testfile.Position) *unit {
	if u, known := s.units[path]; known {
		return u
	}
	if IsTestFile(path) {
		s.wrong(s.path, named.Line, named.Column, "definition_missing", fmt.Sprintf("%s is a test file. Name a definition.", path))
		s.units[path] = nil
		return nil
	}
	u, problems := s.runner.compile(ctx, path)
	s.units[path] = u
	if u != nil {
		return u
	}
	if problems == nil {
		detail := fmt.Sprintf("There is no definition %s.", path)
		if named.Pointer == "/workflow" && s.file.Workflow == "" {
			detail += " Name it: workflow: ./NAME.yaml."
		}
		s.wrong(s.path, named.Line, named.Column, "definition_missing", detail)
	}
	s.report(path, problems.Errors())
	return nil
}

// compiled is a definition that was compiled before, or what is wrong with it.
type compiled struct {
	unit     *unit
	problems dsl.Problems
}

// compile compiles a definition as a deployment would. Without a unit and without problems there is no such file.
func (r *Runner) compile(ctx context.Context, path string) (*unit, dsl.Problems) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c, known := r.compiled[path]; known {
		return c.unit, c.problems
	}
	u, problems := r.compileOnce(ctx, path)
	r.compiled[path] = compiled{u, problems}
	return u, problems
}

func (r *Runner) compileOnce(ctx context.Context, path string) (*unit, dsl.Problems) {
	data, err := r.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, dsl.Problems{{Line: 1, Column: 1, Code: "file_unreadable", Detail: "The file cannot be read: " + reason(err) + "."}}
	}
	doc, found := dsl.Parse(data)
	options := plan.Options{Run: plan.AnyRun(), Resources: map[string][]byte{}, CheckProto: r.CheckProto}
	for {
		result := plan.Check(doc, found, options)
		if result.Plan != nil {
			return newUnit(path, result.Plan, result.Problems.Warnings()), nil
		}
		if len(result.Wanted) == 0 {
			return nil, result.Problems
		}
		var missing dsl.Problems
		for _, w := range result.Wanted {
			content, err := r.resource(ctx, w)
			if err != nil {
				missing = append(missing, doc.ErrorAt(w.Pointer, plan.CodeResourceMissing,
					fmt.Sprintf("The %s %s cannot be read: %s.", w.Kind, w.URI, err), ""))
				continue
			}
			options.Resources[w.Key] = content
		}
		if len(missing) > 0 {
			all := append(slices.Clone(result.Problems), missing...)
			all.Sort()
			return nil, all
		}
	}
}

func (r *Runner) resource(ctx context.Context, w plan.Wanted) ([]byte, error) {
	if r.Resource == nil {
		return nil, errors.New("a test reads no resources from elsewhere")
	}
	return r.Resource(ctx, w)
}

// wrong adds a problem.
func (s *suite) wrong(file string, line, column int, code, detail string) {
	s.result.Problems = append(s.result.Problems, Problem{File: file, Line: line, Column: column, Code: code, Detail: detail})
}

func (s *suite) report(file string, problems dsl.Problems) {
	for _, p := range problems {
		detail := p.Detail
		if p.Hint != "" {
			detail += " " + p.Hint
		}
		one := Problem{File: file, Line: p.Line, Column: p.Column, Code: p.Code, Detail: detail}
		if p.Severity == dsl.SeverityWarning {
			s.result.Warnings = append(s.result.Warnings, one)
		} else {
			s.result.Problems = append(s.result.Problems, one)
		}
	}
}

// reason is an error without the path that its message has anyway.
func reason(err error) string {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return err.Error()
}

// link resolves what the tests say of tasks and children.
func (s *suite) link(ctx context.Context) {
	indexes := map[string]*index{} // by the children
	defaults := &s.file.Defaults
	seen := map[string]bool{}
	for _, c := range s.file.Tests {
		t := &testCase{suite: s, file: c, merged: merge(defaults, c)}
		children := map[string]*unit{}
		key, whole := "", true
		for _, name := range slices.Sorted(maps.Keys(t.merged.Children)) {
			child := t.merged.Children[name]
			path := s.beside(child.File)
			u := s.unit(ctx, path, child.At)
			if u == nil {
				whole = false
				continue
			}
			if got := u.doc.Namespace + "/" + u.doc.Name; got != name {
				s.once(seen, Problem{Line: child.At.Line, Column: child.At.Column, Code: "other_workflow",
					Detail: fmt.Sprintf("%s defines %s, not %s.", path, got, name)})
			}
			children[name] = u
			key += name + "\x00" + path + "\x00"
		}
		if !whole { // its tasks are not known
			continue
		}
		if indexes[key] == nil {
			indexes[key] = newIndex(s.root, children)
		}
		t.children, t.index = children, indexes[key]
		for _, p := range t.link() {
			s.once(seen, p)
		}
		s.cases = append(s.cases, t)
	}
}

// once adds a problem of the test file, unless another test has the same one of the defaults.
func (s *suite) once(seen map[string]bool, p Problem) {
	p.File = s.path
	key := fmt.Sprintf("%d:%d:%s", p.Line, p.Column, p.Detail)
	if !seen[key] {
		seen[key] = true
		s.result.Problems = append(s.result.Problems, p)
	}
}
