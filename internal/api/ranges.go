package api

import (
	"strconv"
	"strings"

	"github.com/chargehand/chargehand"
)

// maxRanges bounds the ranges of one request: each costs some hundred bytes of the answer, and a request of
// its own where the content is in a bucket.
const maxRanges = 16

// checkRanges refuses a header Range that net/http would answer although it should not: too many ranges, and the
// last 0 bytes, which are none. Of the latter, those beside others are left out.
func (c *call) checkRanges(size int64) error {
	header := c.r.Header.Get("Range")
	list, ok := strings.CutPrefix(header, "bytes=")
	if !ok {
		return nil
	}
	specs := strings.Split(list, ",")
	kept := specs[:0]
	for _, spec := range specs {
		if last, isSuffix := strings.CutPrefix(strings.TrimSpace(spec), "-"); isSuffix && last != "" && strings.Trim(last, "0") == "" {
			continue
		}
		kept = append(kept, spec)
	}
	switch {
	case len(specs) > maxRanges:
		return c.unsatisfiable(size, "The header Range names "+strconv.Itoa(len(specs))+" ranges; at most "+strconv.Itoa(maxRanges)+" are answered at once.")
	case len(kept) == 0 && c.r.Header.Get("If-Range") != "": // which may say that the range does not count
		c.r.Header.Del("Range")
	case len(kept) == 0:
		return c.unsatisfiable(size, "The range "+quote(header)+" asks for the last 0 bytes.")
	case len(kept) < len(specs):
		c.r.Header.Set("Range", "bytes="+strings.Join(kept, ","))
	}
	return nil
}

func (c *call) unsatisfiable(size int64, detail string) error {
	c.w.Header().Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
	return chargehand.NewError(chargehand.CodeRangeNotSatisfiable, detail)
}
