package api

import (
	"crypto/sha256"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/service"
	"github.com/danielgtaylor/huma/v2"
)

var idempotencyParameter = &parameter{
	name: "Idempotency-Key", in: "header",
	about: "A name for this request, 1 to 255 characters. Sent again within 24 hours with the same body, " +
		"the request is not carried out again and the original answer is given, with Idempotency-Replayed: true.",
	schema: huma.Schema{Type: "string", MinLength: count(1), MaxLength: count(255)}, read: (*call).readIdempotencyKey,
}

// uselessKeyParameter is the same header where a request changes nothing: clients that send it with every POST are not
// refused.
var uselessKeyParameter = &parameter{
	name: "Idempotency-Key", in: "header",
	about:  "Taken as with every POST, 1 to 255 characters, and of no effect: the request changes nothing, and is carried out each time.",
	schema: idempotencyParameter.schema, read: (*call).readIdempotencyKey,
}

func (c *call) readIdempotencyKey(value string) (complaint string) {
	if n := utf8.RuneCountInString(value); n < 1 || n > c.server.limits.IdempotencyKeyBytes {
		return "must have 1 to 255 characters."
	}
	c.args.idempotency = value
	return ""
}

// idempotency is what the service needs to recognise a repeated request; nil without a key.
func (c *call) idempotency() *service.Idempotency {
	if c.args.idempotency == "" {
		return nil
	}
	i := &service.Idempotency{Method: c.r.Method, Path: c.r.URL.Path, Key: c.args.idempotency}
	if c.route.body == nil || !c.route.body.stream {
		i.BodyHash = sha256.Sum256(c.raw)
	}
	return i
}

// replayed marks the answer to a repeated request.
func (c *call) replayed(yes bool) {
	if yes {
		c.w.Header()["Idempotency-Replayed"] = trueValue
	}
}

func count(n int) *int { return &n }
