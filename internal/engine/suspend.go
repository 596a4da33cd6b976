package engine

// CheckSuspension is the error of a request to suspend, or else to resume, an execution that is suspended or not.
func CheckSuspension(suspend, suspended bool) error {
	switch {
	case suspend && suspended:
		return ErrSuspended
	case !suspend && !suspended:
		return ErrNotSuspended
	}
	return nil
}
