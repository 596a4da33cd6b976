package service

// Idempotency is the Idempotency-Key of a POST and what it stands for (api.md "Limits,
// repetition, waiting"). It counts for 24 hours within one environment, method and path.
type Idempotency struct {
	Method string // upper case
	Path   string // concrete path, without the query
	Key    string // 1 to 255 characters, checked by the caller
	// BodyHash is the SHA-256 of the body as it was sent. Uploads leave it zero.
	BodyHash [32]byte
}
