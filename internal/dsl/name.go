package dsl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

const (
	// maxNameBytes bounds the names of tasks and components.
	maxNameBytes = 255
	// maxPointerBytes bounds the JSON pointer of a task, which is kept for every one.
	maxPointerBytes = 8192
	// maxAllPointerBytes bounds the pointers of all tasks together.
	maxAllPointerBytes = 8 << 20
	// maxLabelBytes bounds namespace and name of a workflow.
	maxLabelBytes = 63
)

// checkName checks the name of a task, a case or a component of `use`. The owner is the place
// of the object in which it is a key. It reports false if the name cannot be used in pointers.
func (d *decoder) checkName(owner location, m *member, what string) bool {
	switch at := keyLocation(owner, m); {
	case len(m.key) > maxNameBytes:
		d.problem(at, CodeName, fmt.Sprintf("The name %s of a %s is longer than %d bytes.", quote(m.key), what, maxNameBytes), "")
		return false
	case strings.TrimSpace(m.key) == "":
		d.problem(at, CodeName, fmt.Sprintf("The name of a %s must not be empty.", what), "")
	case strings.ContainsFunc(m.key, unicode.IsControl):
		d.problem(at, CodeName, fmt.Sprintf("The name %s of a %s contains a control character.", quote(m.key), what), "")
	}
	return true
}

// isLabel reports whether text is a namespace or name: letters, digits and dashes, at most
// 63, neither first nor last a dash.
func isLabel(text string) bool {
	if text == "" || len(text) > maxLabelBytes || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		if !isLabelByte(text[i]) {
			return false
		}
	}
	return true
}

func isLabelByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// workflowName reads a namespace or name.
func (d *decoder) workflowName(at location) string {
	text := d.text(at)
	if at.shape == shapeText && !isLabel(text) {
		hint := ""
		if fixed := labelLike(text); fixed != "" && fixed != text {
			hint = "Write for example " + strconv.Quote(fixed) + "."
		}
		d.invalid(at, fmt.Sprintf("is %s; it must be 1 to %d letters, digits and dashes, neither beginning nor ending with a dash.",
			quote(text), maxLabelBytes), hint)
	}
	return text
}

// labelLike makes a valid label of a text, or returns "".
func labelLike(text string) string {
	var fixed strings.Builder
	for i := 0; i < len(text) && fixed.Len() < maxLabelBytes; i++ {
		if isLabelByte(text[i]) {
			fixed.WriteByte(text[i])
		} else {
			fixed.WriteByte('-')
		}
	}
	return strings.Trim(fixed.String(), "-")
}

// version reads a semantic version.
func (d *decoder) version(at location) string {
	text := d.text(at)
	if at.shape == shapeText && !isSemanticVersion(text) {
		hint := "Write for example '1.0.0'."
		for _, candidate := range []string{strings.TrimPrefix(text, "v"), text + ".0", text + ".0.0"} {
			if isSemanticVersion(candidate) {
				hint = "Write '" + candidate + "'."
				break
			}
		}
		d.invalid(at, fmt.Sprintf("is %s; it must be a semantic version.", quote(text)), hint)
	}
	return text
}

// isSemanticVersion checks the form of semver.org 2.0.0, at most 255 bytes.
func isSemanticVersion(text string) bool {
	if len(text) > maxNameBytes {
		return false
	}
	text, build, hasBuild := strings.Cut(text, "+")
	if hasBuild && !areIdentifiers(build, false) {
		return false
	}
	core, release, hasRelease := strings.Cut(text, "-")
	if hasRelease && !areIdentifiers(release, true) {
		return false
	}
	parts := strings.Split(core, ".")
	for _, part := range parts {
		if part == "" || digits(part) != len(part) || isZeroPadded(part) {
			return false
		}
	}
	return len(parts) == 3
}

func areIdentifiers(text string, isRelease bool) bool {
	for _, part := range strings.Split(text, ".") {
		if part == "" {
			return false
		}
		for i := range len(part) {
			if !isLabelByte(part[i]) {
				return false
			}
		}
		if isRelease && digits(part) == len(part) && isZeroPadded(part) {
			return false
		}
	}
	return true
}

func isZeroPadded(number string) bool { return len(number) > 1 && number[0] == '0' }

// dslVersion reads document.dsl. Every version that begins with 1.0 is run by the rules of
// 1.0.3; other minors and majors are refused (T96).
func (d *decoder) dslVersion(at location) string {
	text := d.version(at)
	if !isSemanticVersion(text) {
		return text
	}
	switch text {
	case "1.0.0", "1.0.1", "1.0.2", "1.0.3":
		return text
	}
	if strings.HasPrefix(text, "1.0.") {
		d.warning(at, CodeDSLPatch,
			fmt.Sprintf("The definition is written for DSL %s; it is run by the rules of 1.0.3.", quote(text)), "Write dsl: '1.0.3'.")
	} else {
		d.problem(at, CodeDSLVersion,
			fmt.Sprintf("DSL %s is not supported; versions 1.0.0 to 1.0.3 are.", quote(text)), "Write dsl: '1.0.3'.")
	}
	return text
}
