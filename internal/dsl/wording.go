package dsl

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// maxQuoted bounds the names that are repeated in problems, in characters.
const maxQuoted = 60

// quote puts a name of the definition between quotes, shortened if it is long.
func quote(name string) string {
	if len(name) > maxQuoted && utf8.RuneCountInString(name) > maxQuoted {
		count := 0
		for at := range name {
			if count++; count > maxQuoted {
				name = name[:at] + "…"
				break
			}
		}
	}
	return strconv.Quote(name)
}

// label names a place by the end of its pointer.
func label(pointer string) string {
	if pointer == "" {
		return "The definition"
	}
	at := strings.LastIndexByte(pointer, '/')
	name := jsonpointer.Unescape(pointer[at+1:])
	if index, err := strconv.Atoi(name); err == nil && index >= 0 && at > 0 {
		return "Item " + strconv.Itoa(index+1) + " of " + quote(ownerName(pointer[:at]))
	}
	return quote(name)
}

func ownerName(pointer string) string {
	return jsonpointer.Unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// either lists alternatives: `"a", "b" or "c"`.
func either(names []string) string {
	var text strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			text.WriteString(" or ")
		default:
			text.WriteString(", ")
		}
		text.WriteString(strconv.Quote(name))
	}
	return text.String()
}

// thousands writes 10000 as 10,000.
func thousands(number int) string {
	text := strconv.Itoa(number)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// maxSuggested bounds the names that are compared, so that suggestions cost little.
const maxSuggested = 40

// suggest is `Did you mean "x"?` for the candidate that is most like name, or "".
func suggest(name string, candidates []string) string {
	if name == "" || len(name) > maxSuggested {
		return ""
	}
	best, bestDistance := "", len(name)/3+2
	lowered := simplify(name)
	for _, candidate := range candidates {
		if len(candidate) > maxSuggested {
			continue
		}
		if d := distance(lowered, simplify(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best == "" || bestDistance >= len(best) {
		return ""
	}
	return "Did you mean " + strconv.Quote(best) + "?"
}

// simplify takes away what differs only in style: case, dashes and underscores.
func simplify(name string) string {
	return strings.Map(func(char rune) rune {
		if char == '-' || char == '_' || char == ' ' {
			return -1
		}
		return char
	}, strings.ToLower(name))
}

// distance is the number of bytes to insert, delete, replace or swap with their neighbour to
// make a into b.
func distance(a, b string) int {
	rows := [3][maxSuggested + 1]int{}
	before, above, current := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			current[j] = min(above[j]+1, current[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, above, current = above, current, before
	}
	return above[len(b)]
}
