// Package pause waits for a time that a context may cut short, once or between attempts.
package pause
