package app

import "fmt"

// SettingError is a mistake in a setting, as against a failure to do what it asks for. The
// command line answers it as wrong usage.
type SettingError struct{ err error }

func (e *SettingError) Error() string { return e.err.Error() }

// Unwrap returns what is wrong.
func (e *SettingError) Unwrap() error { return e.err }

func badSetting(format string, args ...any) error {
	return &SettingError{fmt.Errorf(format, args...)}
}
