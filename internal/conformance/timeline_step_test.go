package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"
)

func (s *scenario) readTimeline() error {
	s.timeline = nil
	for after := ""; ; {
		a, err := s.host.Try(http.MethodGet, s.path()+"/timeline?limit=100"+after, "")
		if err != nil {
			return err
		}
		entries, _ := a.Object()["data"].([]any)
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			s.timeline = append(s.timeline, entry)
		}
		cursor, more := a.Object()["cursor"].(string)
		if !more {
			break
		}
		after = "&cursor=" + cursor
	}
	seq := func(entry map[string]any) int { n, _ := entry["seq"].(int); return n }
	sort.SliceStable(s.timeline, func(i, j int) bool { return seq(s.timeline[i]) < seq(s.timeline[j]) })
	return nil
}

// started lists the names of the tasks in the order in which they started.
func (s *scenario) started() []string {
	names := make([]string, len(s.timeline))
	for i, entry := range s.timeline {
		names[i], _ = entry["name"].(string)
	}
	return names
}

func (s *scenario) index(task string) (int, error) {
	at := slices.Index(s.started(), task)
	if at < 0 {
		return 0, fmt.Errorf("%s did not run; started: %v", task, s.started())
	}
	return at, nil
}

func (s *scenario) runsAtEdge(task, edge string) error {
	if _, err := s.index(task); err != nil {
		return err
	}
	started := s.started()
	at := 0
	if edge == "last" {
		at = len(started) - 1
	}
	if started[at] != task {
		return fmt.Errorf("%s ran %s; started: %v", started[at], edge, started)
	}
	return nil
}

func (s *scenario) runsBeside(task, side, other string) error {
	at, err := s.index(task)
	if err != nil {
		return err
	}
	otherAt, err := s.index(other)
	if err != nil {
		return err
	}
	if (side == "before") != (at < otherAt) || at == otherAt {
		return fmt.Errorf("%s did not run %s %s; started: %v", task, side, other, s.started())
	}
	return nil
}

func (s *scenario) runs(task string, times int) error {
	n := 0
	for _, name := range s.started() {
		if name == task {
			n++
		}
	}
	if n != times {
		return fmt.Errorf("%s ran %d times; started: %v", task, n, s.started())
	}
	return nil
}

func (s *scenario) runsTimes(task, times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	// On Temporal a workflow completes the timeline after a cancellation, which is shown before.
	for deadline := time.Now().Add(stepTimeout / 3); ; {
		err := s.runs(task, n)
		if err == nil || s.execution["phase"] != "cancelled" || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond) // it has no other signal from outside
		if err := s.readTimeline(); err != nil {
			return err
		}
	}
}

// entry is the last entry of a task.
func (s *scenario) entry(task string) (map[string]any, error) {
	for _, entry := range slices.Backward(s.timeline) {
		if entry["name"] == task {
			return entry, nil
		}
	}
	return nil, fmt.Errorf("%s did not run; started: %v", task, s.started())
}

func (s *scenario) taskEnds(task, how string) error {
	entry, err := s.entry(task)
	if err == nil && entry["phase"] != phases[how] {
		err = fmt.Errorf("the phase of %s is %v", task, entry["phase"])
	}
	return err
}

func (s *scenario) taskOutput(task, text string) error {
	if err := s.taskEnds(task, "complete"); err != nil {
		return err
	}
	entry, err := s.entry(task)
	if err != nil {
		return err
	}
	return equals(entry["output"], text)
}

func (s *scenario) taskError(task, text string) error {
	if err := s.taskEnds(task, "fault"); err != nil {
		return err
	}
	entry, err := s.entry(task)
	if err != nil {
		return err
	}
	got, _ := entry["error"].(map[string]any)
	return sameError(got, text, false)
}
