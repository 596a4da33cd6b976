package service

import (
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/excerpt"
)

// ownTypes is what the types of this service's own events begin with. Clients publish one of them: answerEvent.
const ownTypes = "io.chargehand."

// reserved says why a client may not publish events of a type; empty: it may. Workflows that listen for facts about
// executions rely on them, so while executions publish lifecycle events, clients publish none of their types. While
// they do not, such events are those of other runtimes. Upper case makes no type another one.
func (s *Service) reserved(kind string) string {
	begins := func(prefix string) bool {
		return len(kind) >= len(prefix) && strings.EqualFold(kind[:len(prefix)], prefix)
	}
	switch {
	case kind == answerEvent:
		return ""
	case begins(ownTypes):
		return "Types that begin with " + ownTypes + " are those of the service, and " + excerpt.Quote(kind) +
			" is not one that clients publish. To answer a human task, use " + answerEvent + "."
	case s.lifecycle != "" && (begins(s.lifecycle+".workflow.") || begins(s.lifecycle+".task.")):
		return "Executions publish events of types like " + excerpt.Quote(kind) + " about themselves here, so clients publish none. Use a type of your own."
	}
	return ""
}

// checkTypes refuses events of types that clients do not publish. Codes: invalid_body.
func (s *Service) checkTypes(events []map[string]any, batch bool) error {
	var wrong []chargehand.FieldError
	for i, event := range events {
		kind, _ := event["type"].(string)
		detail := s.reserved(kind)
		if detail == "" {
			continue
		}
		at := []string{"type"}
		if batch {
			at = []string{strconv.Itoa(i), "type"}
		}
		if wrong = append(wrong, chargehand.FieldError{Pointer: pointer(at...), Code: "reserved_type", Detail: detail}); len(wrong) >= maxFields {
			break
		}
	}
	if len(wrong) > 0 {
		return badBody(wrong...)
	}
	return nil
}
