package protofile

import (
	"fmt"
	"unicode/utf8"
)

// check applies the bounds before the compiler sees the source. It reads tokens roughly: it
// knows comments and texts, so that braces inside them do not count.
func check(source []byte) error {
	if len(source) > MaxBytes {
		return &Error{Detail: fmt.Sprintf("the proto file has %d bytes; at most %d are read", len(source), MaxBytes)}
	}
	if !utf8.Valid(source) {
		return &Error{Detail: "the proto file is not UTF-8 text"}
	}
	s := scanner{source: source, line: 1}
	for s.at < len(source) {
		if err := s.token(); err != nil {
			return err
		}
	}
	return nil
}

type scanner struct {
	source     []byte
	at         int
	line       int
	lineStart  int
	depth      int
	statements int
}

func (s *scanner) token() error {
	switch c := s.source[s.at]; {
	case c == '"' || c == '\'':
		s.text(c)
	case c == '/' && s.next() == '/':
		for s.at < len(s.source) && s.source[s.at] != '\n' {
			s.at++
		}
	case c == '/' && s.next() == '*':
		s.comment()
	case isWord(c):
		start := s.at
		for s.at < len(s.source) && (isWord(s.source[s.at]) || s.source[s.at] == '.') {
			s.at++
		}
		if s.at-start > MaxWordBytes {
			return s.refuse(start, fmt.Sprintf("a name has more than %d bytes", MaxWordBytes))
		}
	default:
		return s.mark(c)
	}
	return nil
}

// mark reads one byte that is no part of a name, text or comment.
func (s *scanner) mark(c byte) error {
	switch c {
	case '{', '[', '(', '<':
		if s.depth++; s.depth > MaxDepth {
			return s.refuse(s.at, fmt.Sprintf("declarations are nested deeper than %d", MaxDepth))
		}
	case '}', ']', ')', '>':
		s.depth = max(s.depth-1, 0)
	case '\n':
		s.line++
		s.lineStart = s.at + 1
	}
	if c == ';' || c == '{' || c == ',' {
		if s.statements++; s.statements > MaxStatements {
			return s.refuse(s.at, fmt.Sprintf("the file has more than %d declarations", MaxStatements))
		}
	}
	s.at++
	return nil
}

// text skips a text, which ends at its quote or, where that is missing, with its line.
func (s *scanner) text(quote byte) {
	for s.at++; s.at < len(s.source); s.at++ {
		switch s.source[s.at] {
		case quote:
			s.at++
			return
		case '\n':
			return
		case '\\':
			if s.next() != '\n' {
				s.at++
			}
		}
	}
	s.at = len(s.source)
}

func (s *scanner) comment() {
	for s.at += 2; s.at < len(s.source); s.at++ {
		switch {
		case s.source[s.at] == '\n':
			s.line++
			s.lineStart = s.at + 1
		case s.source[s.at] == '*' && s.next() == '/':
			s.at += 2
			return
		}
	}
}

// next is the byte after the present one; 0 at the end.
func (s *scanner) next() byte {
	if s.at+1 < len(s.source) {
		return s.source[s.at+1]
	}
	return 0
}

func (s *scanner) refuse(at int, detail string) error {
	return &Error{Line: s.line, Column: at - s.lineStart + 1, Detail: detail}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
