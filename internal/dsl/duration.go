package dsl

// Span is a constant length of time. Months are kept apart, because their length depends on
// the date they are added to (T52: calendar arithmetic in UTC). Neither part is negative.
type Span struct {
	Months       int64
	Milliseconds int64
}

// Duration is a duration in a definition: constant (Span), or by expression, which must yield
// ISO 8601 text for ParseDuration.
type Duration struct {
	Pointer    string
	Expression Slot // present: the duration is the result of this ${ } text
	Span       Span
}

// Constant reports whether the duration is known without evaluating anything.
func (d *Duration) Constant() bool { return !d.Expression.Present() }
