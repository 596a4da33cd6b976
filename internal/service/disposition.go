package service

import (
	"net/url"
	"strings"
)

// Disposition is the Content-Disposition of a download (RFC 6266): a name that every client
// can read, and the exact one.
func Disposition(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%`, r) {
			return '_'
		}
		return r
	}, name)
	if plain == "" {
		plain, name = "file", "file"
	}
	// PathEscape leaves some characters as they are that RFC 8187 wants encoded.
	exact := strings.NewReplacer("'", "%27", "(", "%28", ")", "%29", "*", "%2A", "@", "%40", ":", "%3A", "=", "%3D", ",", "%2C", ";", "%3B").
		Replace(url.PathEscape(strings.ToValidUTF8(name, "\ufffd")))
	return `attachment; filename="` + plain + `"; filename*=UTF-8''` + exact
}
