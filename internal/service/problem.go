package service

import "github.com/chargehand/chargehand"

// Problem explains an error code to people (GET /problems/{code}).
type Problem struct {
	Code        chargehand.Code
	Title       string
	Description string // what happened and what to do
}

// FindProblem explains a code. Codes: problem_not_found.
func FindProblem(code string) (Problem, error) { panic("unfinished") }

// Title is the title of a code.
func Title(code chargehand.Code) string { panic("unfinished") }
