package resource

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultFreshness is for documents whose server says nothing.
	defaultFreshness = time.Minute
	longestFreshness = time.Hour
	maxValidator     = 1 << 10
)

// freshness is what an answer says about keeping it (RFC 9111).
type freshness struct {
	lifetime     time.Duration
	keep         bool // no-store was not said
	etag         string
	lastModified string
}

func (k freshness) validates() bool { return k.etag != "" || k.lastModified != "" }

// ask makes a request conditional.
func (k freshness) ask(header http.Header) {
	if k.etag != "" {
		header.Set("If-None-Match", k.etag)
	}
	if k.lastModified != "" {
		header.Set("If-Modified-Since", k.lastModified)
	}
}

func readFreshness(header http.Header) freshness {
	found := freshness{keep: true, etag: header.Get("ETag"), lastModified: header.Get("Last-Modified")}
	if len(found.etag)+len(found.lastModified) > maxValidator {
		found.etag, found.lastModified = "", ""
	}
	found.lifetime = defaultFreshness
	expires, expiresErr := http.ParseTime(header.Get("Expires"))
	date, dateErr := http.ParseTime(header.Get("Date"))
	if expiresErr == nil && dateErr == nil {
		found.lifetime = expires.Sub(date)
	}
	always := false
	for directive := range strings.SplitSeq(strings.Join(header.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.ToLower(directive)), "=")
		switch name {
		case "no-store":
			found.keep = false
		case "no-cache":
			always = true
		case "max-age":
			if seconds, ok := readSeconds(value); ok {
				found.lifetime = seconds
			}
		}
	}
	if age, ok := readSeconds(header.Get("Age")); ok {
		found.lifetime -= age
	}
	found.lifetime = max(0, min(found.lifetime, longestFreshness))
	if always || !found.keep {
		found.lifetime = 0
	}
	return found
}

func readSeconds(text string) (time.Duration, bool) {
	seconds, err := strconv.ParseUint(strings.Trim(text, ` "`), 10, 63)
	if err != nil {
		return 0, false
	}
	return time.Duration(min(seconds, uint64(2*longestFreshness/time.Second))) * time.Second, true
}
