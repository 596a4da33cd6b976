package dsl

import (
	"errors"
	"fmt"
)

// Severity tells what refuses a definition from what only deserves a look.
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

// Problem is one thing that is wrong, or doubtful, in a definition.
type Problem struct {
	Pointer  string // JSON pointer (RFC 6901); "" is the whole definition
	Line     int    // from 1
	Column   int    // from 1, in characters
	Code     string // stable, snake_case; see the Code constants
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

// HasErrors reports whether the definition must be refused.
func (p Problems) HasErrors() bool {
	for i := range p {
		if p[i].Severity == SeverityError {
			return true
		}
	}
	return false
}

// Errors is what refuses the definition.
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

// ErrSyntax is matched by Problems.Err when the text is neither YAML nor JSON at all
// (or too large or too deep to be read): the API answers 400 then, 422 otherwise.
var ErrSyntax = errors.New("neither YAML nor JSON")

// ErrInvalid is matched by Problems.Err when the text was read but is no valid definition.
var ErrInvalid = errors.New("invalid definition")
