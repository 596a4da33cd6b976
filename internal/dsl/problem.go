package dsl

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Severity tells errors, which refuse a definition, from warnings, which do not.
type Severity uint8

// The severities.
const (
	SeverityError Severity = iota
	SeverityWarning
)

func (s Severity) String() string {
	if s == SeverityWarning {
		return "warning"
	}
	return "error"
}

// The codes of problems. They are stable: users and tools may rely on them.
const (
	// The text as such.
	CodeSyntax       = "syntax_error"           // neither YAML nor JSON
	CodeTooLarge     = "definition_too_large"   // more than MaxBytes
	CodeTooDeep      = "definition_too_deep"    // more than MaxDepth tasks or levels of a value, or MaxLevels of the text
	CodeDocuments    = "more_than_one_document" // a second YAML document
	CodeAlias        = "alias_not_allowed"      // a YAML alias that contains itself or adds too much
	CodeMerge        = "merge_not_possible"     // a YAML merge key with something else than objects
	CodeTag          = "tag_not_supported"      // a YAML tag that is not of the JSON types
	CodeKey          = "key_not_text"           // a YAML key that is a list or an object
	CodeDuplicateKey = "duplicate_key"
	CodeNumber       = "number_out_of_range" // a number that JSON values cannot hold

	// Shapes and values.
	CodeWrongType  = "wrong_type"
	CodeRequired   = "required_property"
	CodeUnknown    = "unknown_property" // a warning at the root
	CodeConflict   = "conflicting_properties"
	CodeValue      = "invalid_value"
	CodeDSLVersion = "unsupported_dsl_version"
	CodeDSLPatch   = "other_dsl_version" // a warning: another patch or a pre-release of 1.0 (T96)

	// Tasks and names.
	CodeName            = "invalid_name"
	CodeDuplicate       = "duplicate_name" // two tasks, cases, extensions or secrets of one name
	CodeOneName         = "one_name_per_item"
	CodeKindMissing     = "task_kind_missing"
	CodeKindConflict    = "task_kind_conflict"
	CodeDefaultCases    = "more_than_one_default"
	CodeTarget          = "unknown_target" // a jump to a name that is not in the list
	CodeTooManyTasks    = "too_many_tasks"
	CodeTooManyBranches = "too_many_branches"

	// The codes of warnings.
	CodeDeprecated       = "deprecated_property"
	CodeUnused           = "unused_property" // valid, and means nothing here
	CodeShadowed         = "shadowed_name"   // a task called as a flow directive (T94)
	CodeIgnoredDirective = "directive_ignored"
	CodeAmbiguousNumber  = "ambiguous_number" // 0123 is read as 123
)

// Problem is one thing that is wrong, or doubtful, in a definition.
type Problem struct {
	Pointer  string // JSON pointer (RFC 6901); "" is the whole definition
	Line     int    // from 1
	Column   int    // from 1, in characters
	Code     string // one of the Code constants, or one of package plan
	Detail   string // a sentence that names what is wrong
	Hint     string // a sentence that says what to do; may be ""
	Severity Severity
}

// String is "line:column: detail hint".
func (p Problem) String() string {
	text := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Detail)
	if p.Hint != "" {
		text += " " + p.Hint
	}
	return text
}

// Problems is sorted by position. It holds at most 100 errors and 100 warnings.
type Problems []Problem

// ErrSyntax is matched by Problems.Err when the text is neither YAML nor JSON: the API
// answers 400 then, and 422 for the rest.
var ErrSyntax = errors.New("neither YAML nor JSON")

// ErrInvalid is matched by Problems.Err when the text was read but is no valid definition.
var ErrInvalid = errors.New("invalid definition")

// Err is nil if there is no error. Otherwise it wraps ErrSyntax or ErrInvalid and quotes the
// first error.
func (p Problems) Err() error {
	found := p.Errors()
	if len(found) == 0 {
		return nil
	}
	kind := ErrInvalid
	if slices.ContainsFunc(found, func(problem Problem) bool { return problem.Code == CodeSyntax }) {
		kind = ErrSyntax
	}
	if more := len(found) - 1; more > 0 {
		return fmt.Errorf("%w: %s (and %d more)", kind, found[0], more)
	}
	return fmt.Errorf("%w: %s", kind, found[0])
}

// HasErrors reports whether the definition must be refused.
func (p Problems) HasErrors() bool {
	return slices.ContainsFunc(p, func(problem Problem) bool { return problem.Severity == SeverityError })
}

// Errors are the problems because of which a definition is refused.
func (p Problems) Errors() Problems { return p.only(SeverityError) }

// Warnings is the rest.
func (p Problems) Warnings() Problems { return p.only(SeverityWarning) }

func (p Problems) only(severity Severity) Problems {
	var kept Problems
	for _, problem := range p {
		if problem.Severity == severity {
			kept = append(kept, problem)
		}
	}
	return kept
}

// Sort orders problems by position. Package plan uses it when it adds its own.
func (p Problems) Sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Pointer, b.Pointer))
	})
}

// maxProblems bounds errors and warnings, each.
const maxProblems = 100

// report collects problems while a definition is read.
type report struct {
	errors, warnings Problems
}

func (r *report) add(p Problem) {
	list := &r.errors
	if p.Severity == SeverityWarning {
		list = &r.warnings
	}
	if len(*list) < maxProblems {
		*list = append(*list, p)
	}
}

// full reports whether another error would be dropped, so that its details need not be made.
func (r *report) full() bool { return len(r.errors) == maxProblems }

func (r *report) sorted() Problems {
	all := slices.Concat(r.errors, r.warnings)
	all.Sort()
	return all
}
