package conformance

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/chargehand/chargehand/internal/value"
)

// deploy applies a definition.
func (s *scenario) deploy(definition string) error {
	a, err := s.host.Try(http.MethodPost, "/workflows", definition, "Content-Type", "application/yaml")
	if err != nil {
		return err
	}
	if a.Status != http.StatusCreated && a.Status != http.StatusOK {
		return fmt.Errorf("deploy: %d %s", a.Status, a.Body)
	}
	s.workflow, _ = a.Object()["id"].(string)
	s.warnings, _ = a.Object()["warnings"].([]any)
	if strings.Contains(definition, "schedule:") {
		s.scheduled = append(s.scheduled, s.workflow)
	}
	return nil
}

// unschedule deletes the workflows of the scenario that start by themselves. They would run beside all
// scenarios that follow, some of them ten times a second.
func (s *scenario) unschedule() error {
	for _, id := range s.scheduled {
		a, err := s.host.Try(http.MethodDelete, "/workflows/"+id, "")
		if err != nil {
			return err
		}
		if a.Status != http.StatusNoContent && a.Status != http.StatusNotFound {
			return fmt.Errorf("delete the workflow: %d %s", a.Status, a.Body)
		}
	}
	return nil
}

// refuse applies a definition that must not be accepted.
func (s *scenario) refuse(definition string) error {
	a, err := s.host.Try(http.MethodPost, "/workflows", definition, "Content-Type", "application/yaml")
	if err != nil {
		return err
	}
	if a.Status != http.StatusUnprocessableEntity {
		return fmt.Errorf("deploy: %d %s", a.Status, a.Body)
	}
	s.refusal = a.Object()
	return nil
}

// problem looks for a problem of a definition, which must have its place in the text.
func problem(list []any, code, pointer string) error {
	for _, p := range list {
		one, _ := p.(map[string]any)
		line, _ := one["line"].(int)
		column, _ := one["column"].(int)
		if one["code"] == code && one["pointer"] == pointer && line > 0 && column > 0 {
			return nil
		}
	}
	return fmt.Errorf("there is no %s at %q with its place: %s", code, pointer, value.Marshal(list))
}

func (s *scenario) refused(code, pointer string) error {
	list, _ := s.refusal["errors"].([]any)
	return problem(list, code, pointer)
}

// refusalSays looks for a part of what a problem says.
func (s *scenario) refusalSays(part string) error {
	list, _ := s.refusal["errors"].([]any)
	for _, p := range list {
		one, _ := p.(map[string]any)
		if detail, _ := one["detail"].(string); strings.Contains(detail, part) {
			return nil
		}
	}
	return fmt.Errorf("no problem says %q: %s", part, value.Marshal(list))
}

func (s *scenario) warned(code, pointer string) error { return problem(s.warnings, code, pointer) }

func (s *scenario) notWarned() error {
	if len(s.warnings) > 0 {
		return fmt.Errorf("the deployment warns: %s", value.Marshal(s.warnings))
	}
	return nil
}

func (s *scenario) giveSecret(name, text string) error {
	v, err := decode(text)
	if err != nil {
		return err
	}
	a, err := s.host.Try(http.MethodPut, "/secrets/"+name, `{"value":`+string(value.Marshal(v))+`}`)
	if err == nil && a.Status >= 300 {
		err = fmt.Errorf("set the secret: %d %s", a.Status, a.Body)
	}
	return err
}

// deployDraft applies a definition without publishing it.
func (s *scenario) deployDraft(definition string) error {
	a, err := s.host.Try(http.MethodPost, "/workflows?draft=true", definition, "Content-Type", "application/yaml")
	if err == nil && a.Status != http.StatusCreated && a.Status != http.StatusOK {
		err = fmt.Errorf("deploy: %d %s", a.Status, a.Body)
	}
	return err
}
