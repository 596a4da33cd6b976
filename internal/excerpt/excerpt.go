package excerpt

import "strconv"

// quoted is the number of bytes of a text that Quote shows.
const quoted = 80

// Quote quotes a text for a message. Of a long one it shows the beginning.
func Quote(s string) string {
	if len(s) > quoted {
		return strconv.Quote(s[:quoted]) + "…"
	}
	return strconv.Quote(s)
}
