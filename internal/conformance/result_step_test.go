package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/value"
)

var phases = map[string]string{"complete": "completed", "fault": "faulted", "cancel": "cancelled"}

func (s *scenario) ends(how string) error {
	if s.execution["phase"] != phases[how] {
		return fmt.Errorf("the phase is %v: %s", s.execution["phase"], value.Marshal(s.execution))
	}
	return nil
}

func (s *scenario) completesWith(text string) error {
	if err := s.ends("complete"); err != nil {
		return err
	}
	return equals(s.execution["output"], text)
}

// faultsWith compares the error of the execution, all of it or only what the text names.
func (s *scenario) faultsWith(text string, whole bool) error {
	if err := s.ends("fault"); err != nil {
		return err
	}
	got, _ := s.execution["error"].(map[string]any)
	return sameError(got, text, whole)
}

func sameError(got map[string]any, text string, whole bool) error {
	v, err := decode(text)
	if err != nil {
		return err
	}
	want, _ := v.(map[string]any)
	for name, wanted := range want {
		if part, ok := wanted.(string); ok && !whole && name == "detail" {
			if detail, _ := got[name].(string); strings.Contains(detail, part) {
				continue
			}
		}
		if !value.Equal(got[name], wanted) {
			return fmt.Errorf("error.%s is %s, want %s", name, value.Marshal(got[name]), value.Marshal(wanted))
		}
	}
	for _, name := range []string{"type", "status", "title", "detail", "instance"} {
		if _, wanted := want[name]; whole && !wanted && got[name] != nil {
			return fmt.Errorf("error.%s is %s, want none", name, value.Marshal(got[name]))
		}
	}
	return nil
}

var quoted = regexp.MustCompile(`'([^']+)'`)

func (s *scenario) hasProperties(list string) error {
	for _, match := range quoted.FindAllStringSubmatch(list, -1) {
		if _, err := lookup(s.execution["output"], match[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *scenario) hasProperty(path, text string) error {
	v, err := lookup(s.execution["output"], path)
	if err != nil {
		return err
	}
	return equals(v, text)
}

func (s *scenario) hasItems(path, count string) error {
	v, err := lookup(s.execution["output"], path)
	if err != nil {
		return err
	}
	items, _ := v.([]any)
	if strconv.Itoa(len(items)) != count {
		return fmt.Errorf("%s holds %d items, want %s", path, len(items), count)
	}
	return nil
}

// follow reads what a link in the output leads to, the outputUri of an event (T64).
func (s *scenario) follow(path, kind, text string) error {
	v, err := lookup(s.execution["output"], path)
	if err != nil {
		return err
	}
	uri, _ := v.(string)
	_, relative, found := strings.Cut(uri, "/api/v1")
	if !found {
		return fmt.Errorf("%s is no link: %s", path, value.Marshal(v))
	}
	a, err := s.host.Try(http.MethodGet, relative, "")
	if err != nil {
		return err
	}
	one := a.Object()
	if kind == "task" {
		entries, _ := one["data"].([]any)
		if len(entries) != 1 {
			return fmt.Errorf("%s leads to: %d %s", uri, a.Status, a.Body)
		}
		one, _ = entries[0].(map[string]any)
	}
	return equals(one["output"], text)
}

func (s *scenario) received(count, path string) error {
	if got := strconv.Itoa(s.outside.count(path)); got != count {
		return fmt.Errorf("%s requests for %s, want %s", got, path, count)
	}
	return nil
}
