package secret

import (
	"strings"
	"unicode/utf8"
)

// Stream takes the secrets out of a text that comes in pieces, wherever it is cut. What may be the begin of a secret is
// held back until the text continues or ends. It is for one goroutine.
type Stream struct {
	redactor *Redactor
	held     string
	gone     int // bytes of held that belong to a secret in whose place Redacted was shown
	skip     int // bytes that follow a gap and may be the end of a secret
}

// NewStream begins a text. A nil Redactor changes nothing, and holds nothing back.
func (r *Redactor) NewStream() *Stream { return &Stream{redactor: r} }

// Reach is a bound for the bytes that one secret takes in a text, however it is written.
func (r *Redactor) Reach() int {
	if r == nil {
		return 0
	}
	longest := 0
	for _, form := range r.index.forms {
		longest = max(longest, len(form))
	}
	return longest * len(`\u0000`)
}

// Held is how many bytes are held back.
func (s *Stream) Held() int { return len(s.held) }

// Next returns what can be shown after the next piece. The piece is kept.
func (s *Stream) Next(piece string) string {
	if s.redactor == nil {
		return piece
	}
	n := min(s.skip, len(piece))
	s.skip -= n
	piece = piece[n:]
	if piece == "" {
		return ""
	}
	text := s.held + piece
	spans, complete := s.redactor.search(text)
	for complete > 0 && complete < len(text) && !utf8.RuneStart(text[complete]) {
		complete--
	}
	shown := s.replaced(text[:complete], spans)
	s.held, s.gone = text[complete:], max(0, s.gone-complete)
	for _, hidden := range spans {
		if hidden.from < complete && complete < hidden.to {
			s.gone = hidden.to - complete
		}
	}
	if len(s.held) > s.redactor.Reach()+anchorBytes { // secrets that follow each other without end
		s.held, s.gone, s.skip = "", 0, s.redactor.Reach()
		shown += Redacted
	}
	return shown
}

// Gap says that a part of the text is missing here: what is left of a secret on either side of it is not shown.
func (s *Stream) Gap() string {
	if s.redactor == nil {
		return ""
	}
	shown := s.Rest()
	s.skip = s.redactor.Reach()
	return shown
}

// Rest ends the text, and returns what was held back. The begin of a secret is taken out, because the text may have
// been cut there.
func (s *Stream) Rest() string {
	if s.held == "" {
		return ""
	}
	text := s.held
	spans, _ := s.redactor.search(text)
	if open := s.redactor.openAt(text); open >= MinTextBytes {
		spans = joined(text, append(spans, span{len(text) - open, len(text)}))
	}
	shown := s.replaced(text, spans)
	s.held, s.gone = "", 0
	return shown
}

// replaced is replaced of a text that begins with what is gone.
func (s *Stream) replaced(text string, spans []span) string {
	gone := s.gone
	for gone > 0 && len(spans) > 0 && spans[0].from <= gone {
		gone, spans = max(gone, spans[0].to), spans[1:]
	}
	gone = min(gone, len(text))
	later := make([]span, len(spans))
	for i, hidden := range spans {
		later[i] = span{hidden.from - gone, hidden.to - gone}
	}
	return replaced(text[gone:], later)
}

// openAt is how many bytes at the end of a text are the begin of a form.
func (r *Redactor) openAt(text string) int {
	var none cover
	return r.index.scan(text[max(0, len(text)-2*anchorBytes):], &none)
}

// beforeEllipsis is where a secret begins that an ellipsis may cut off, which itself is cut off at the end of the text.
func (r *Redactor) beforeEllipsis(text string) int {
	for _, part := range [...]string{" ..", " .", " ", "..", ".", "\xe2\x80", "\xe2"} {
		if before, found := strings.CutSuffix(text, part); found {
			if open := r.openAt(before); open >= MinTextBytes {
				return len(before) - open
			}
		}
	}
	return len(text)
}

// replaced puts Redacted in the place of spans. Spans behind the text are left out.
func replaced(text string, spans []span) string {
	if len(spans) == 0 || spans[0].from >= len(text) {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		if s.from >= len(text) {
			break
		}
		b.WriteString(text[at:s.from])
		b.WriteString(Redacted)
		at = min(s.to, len(text))
	}
	b.WriteString(text[at:])
	return b.String()
}
