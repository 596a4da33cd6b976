package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// word is an old word, or a turn of phrase, that the repository does not use.
type word struct {
	name string // for messages
	say  string
	// names finds the word among the words of a name that Go code declares, and of the name of a file
	// (wordsOf); exacts compares whole names.
	names  []*regexp.Regexp
	exacts []*regexp.Regexp
	// texts finds it in comments, string literals and in every other file; nil: nowhere.
	texts  []*regexp.Regexp
	within []*regexp.Regexp // the files in which it is looked for; none: all
	keeps  []*exception
}

// exception is where a word stays, with the reason.
type exception struct {
	files  *regexp.Regexp
	line   *regexp.Regexp // only lines that match; nil: every line
	number int            // of its line in the list
	used   bool
}

// list is what scripts/words.txt says.
type list struct {
	words    []*word
	ignored  []*regexp.Regexp // files that are not ours to word
	excepted []*regexp.Regexp // files that are excepted for the time being
}

// parseList reads lines of these forms. A pattern is a regular expression; files are a path in
// which * stands for anything but a slash and ** for anything.
//
//	ignore FILES : REASON
//	later FILES : REASON               excepted from everything for the time being
//	old WORD                           begins a word
//	say TEXT                           what to use in its place
//	name PATTERN                       in names, as whole words of it (a_b is AB)
//	exact PATTERN                      as a whole name
//	text PATTERN                       in prose
//	within FILES                       looked for in these files only
//	keep FILES [/PATTERN/] : REASON    where it stays, or only in lines that match
func parseList(text string) (*list, error) {
	l := &list{}
	var current *word
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		kind, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		if current == nil && kind != "old" && kind != "ignore" && kind != "later" {
			return nil, fmt.Errorf("line %d: %q stands before the first word", i+1, kind)
		}
		var err error
		switch kind {
		case "old":
			current = &word{name: rest}
			l.words = append(l.words, current)
		case "say":
			current.say = rest
		case "name":
			err = appendPattern(&current.names, "_(?:"+rest+")_")
		case "exact":
			err = appendPattern(&current.exacts, "^(?:"+rest+")$")
		case "text":
			err = appendPattern(&current.texts, rest)
		case "within":
			current.within = append(current.within, globPattern(rest))
		case "keep":
			err = current.keep(rest, i+1)
		case "ignore":
			err = appendFiles(&l.ignored, rest)
		case "later":
			err = appendFiles(&l.excepted, rest)
		default:
			err = fmt.Errorf("unknown kind %q", kind)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for _, w := range l.words {
		if w.say == "" || len(w.names)+len(w.exacts)+len(w.texts) == 0 {
			return nil, fmt.Errorf("%q needs a line `say` and a pattern", w.name)
		}
	}
	return l, nil
}

func appendPattern(to *[]*regexp.Regexp, source string) error {
	pattern, err := regexp.Compile(source)
	if err == nil {
		*to = append(*to, pattern)
	}
	return err
}

func appendFiles(to *[]*regexp.Regexp, rest string) error {
	files, reason, _ := strings.Cut(rest, " : ")
	if strings.TrimSpace(reason) == "" {
		return fmt.Errorf("a reason is missing after %q", files)
	}
	*to = append(*to, globPattern(strings.TrimSpace(files)))
	return nil
}

func (w *word) keep(rest string, number int) error {
	at, reason, _ := strings.Cut(rest, " : ")
	if strings.TrimSpace(reason) == "" {
		return fmt.Errorf("a reason is missing after %q", at)
	}
	files, pattern, _ := strings.Cut(strings.TrimSpace(at), " ")
	e := &exception{files: globPattern(files), number: number}
	if pattern = strings.TrimSpace(pattern); pattern != "" {
		if len(pattern) < 3 || pattern[0] != '/' || pattern[len(pattern)-1] != '/' {
			return fmt.Errorf("%q is no /PATTERN/", pattern)
		}
		var err error
		if e.line, err = regexp.Compile(pattern[1 : len(pattern)-1]); err != nil {
			return err
		}
	}
	w.keeps = append(w.keeps, e)
	return nil
}

// globPattern is the regular expression of a path with * and **.
func globPattern(glob string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(glob)
	quoted = strings.ReplaceAll(quoted, `\*\*`, "\x00")
	quoted = strings.ReplaceAll(quoted, `\*`, "[^/]*")
	return regexp.MustCompile("^" + strings.ReplaceAll(quoted, "\x00", ".*") + "$")
}

// wordsOf gives the words of a name in lower case, with a line below around each: BatchID is _batch_id_.
func wordsOf(name string) string {
	var words strings.Builder
	runes := []rune(name)
	words.WriteByte('_')
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		if upper && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			words.WriteByte('_')
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = '_'
		}
		words.WriteRune(unicode.ToLower(r))
	}
	words.WriteByte('_')
	return words.String()
}

// applies reports whether the word is looked for in a file.
func (w *word) applies(file string) bool {
	return len(w.within) == 0 || anyMatches(w.within, file)
}

func anyMatches(patterns []*regexp.Regexp, text string) bool {
	for _, pattern := range patterns {
		if pattern.MatchString(text) {
			return true
		}
	}
	return false
}

// kept reports whether the word stays in that line.
func (w *word) kept(file, line string) bool {
	for _, e := range w.keeps {
		if e.files.MatchString(file) && (e.line == nil || e.line.MatchString(line)) {
			e.used = true
			return true
		}
	}
	return false
}
