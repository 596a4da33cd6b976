package postgres

// Rewrite is what a text of package store becomes.
func Rewrite(query string) string { return rewrite(ordered(query)).text }
