package chargehand

// Error is what a caller of the API did wrong or must know. Everything else that goes
// wrong is the operator's business and shown to callers as "internal".
type Error struct {
	Code   Code
	Detail string
	// Fields names the places that are wrong, at most 100.
	Fields []FieldError
	// RetryAfter is the number of seconds to wait before trying again; 0: no hint.
	RetryAfter int
	Quota      *Quota // that is used up; nil: none
}

// Quota is a quota that a request would exceed, and whose it is.
type Quota struct {
	Name        string // as GET /limits names it
	OwnerKind   string // environment, key, user, account
	OwnerID     string // name of the environment, else an id
	Limit, Used int64
}

// FieldError is one wrong place in a body or a definition.
type FieldError struct {
	Pointer string // JSON pointer (RFC 6901) into the body or definition
	// Parameter names a query parameter or header instead; Pointer is empty then.
	Parameter string
	Code      string // stable, snake_case
	Detail    string
	Line      int // from 1; 0 where lines mean nothing
	Column    int // from 1
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Detail }

// NewError makes an error for a client. detail is a sentence, not a format.
func NewError(code Code, detail string, fields ...FieldError) *Error {
	return &Error{Code: code, Detail: detail, Fields: fields}
}

// Code is a stable, snake_case error code. docs/reference/errors.md lists them with their HTTP status.
type Code string

// The codes, by HTTP status.
const (
	CodeInvalidJSON          Code = "invalid_json" // 400
	CodeInvalidParameter     Code = "invalid_parameter"
	CodeUnknownParameter     Code = "unknown_parameter"
	CodeInvalidBody          Code = "invalid_body"
	CodeUnknownField         Code = "unknown_field"
	CodeAmbiguousCredentials Code = "ambiguous_credentials"

	CodeMissingAPIKey      Code = "missing_api_key" // 401
	CodeInvalidAPIKey      Code = "invalid_api_key"
	CodeExpiredAPIKey      Code = "expired_api_key"
	CodeInvalidCredentials Code = "invalid_credentials"

	CodeInsufficientScope   Code = "insufficient_scope" // 403
	CodeFreshSignInRequired Code = "fresh_sign_in_required"
	CodeCrossOrigin         Code = "cross_origin"
	CodeNotInvited          Code = "not_invited"
	CodeHTTPSRequired       Code = "https_required"
	CodeAddressNotAllowed   Code = "address_not_allowed"
	CodeNotAssigned         Code = "not_assigned"
	CodeExcluded            Code = "excluded"

	CodeWorkflowNotFound  Code = "workflow_not_found" // 404
	CodeVersionNotFound   Code = "version_not_found"
	CodeExecutionNotFound Code = "execution_not_found"
	CodeBatchNotFound     Code = "batch_not_found"
	CodeFileNotFound      Code = "file_not_found"
	CodeHumanTaskNotFound Code = "human_task_not_found"
	CodeTaskLinkNotFound  Code = "task_link_not_found"
	CodeKeyNotFound       Code = "api_key_not_found"
	CodeSecretNotFound    Code = "secret_not_found"
	CodeAccountNotFound   Code = "account_not_found"
	CodeUserNotFound      Code = "user_not_found"
	CodeGroupNotFound     Code = "group_not_found"
	CodeGrantNotFound     Code = "grant_not_found"
	CodePasskeyNotFound   Code = "passkey_not_found"
	CodeProviderNotFound  Code = "provider_not_found"
	CodeSessionNotFound   Code = "session_not_found"
	CodeOperationNotFound Code = "operation_not_found"
	CodeProblemNotFound   Code = "problem_not_found"
	CodeRouteNotFound     Code = "route_not_found"

	CodeMethodNotAllowed     Code = "method_not_allowed"     // 405
	CodeUnsupportedMediaType Code = "unsupported_media_type" // 415
	CodePayloadTooLarge      Code = "payload_too_large"      // 413
	CodePreconditionFailed   Code = "precondition_failed"    // 412, downloads only
	CodeRevisionConflict     Code = "revision_conflict"      // 412
	CodeRangeNotSatisfiable  Code = "range_not_satisfiable"  // 416, downloads only

	CodeIdempotencyInProgress Code = "idempotency_in_progress" // 409
	CodeStateConflict         Code = "state_conflict"
	CodeLastAdmin             Code = "last_admin"
	CodeAnswerConflict        Code = "answer_conflict"
	CodeClaimedByOther        Code = "claimed_by_other"
	CodeTaskWithdrawn         Code = "task_withdrawn"
	CodeRecordingIncomplete   Code = "recording_incomplete"
	CodeResultExpired         Code = "result_expired" // 410
	CodeSetupDone             Code = "setup_done"

	CodeInputInvalid         Code = "input_invalid" // 422
	CodeAnswerInvalid        Code = "answer_invalid"
	CodeItemsEmpty           Code = "items_empty"
	CodeTooManyItems         Code = "too_many_items"
	CodeTooManyTasks         Code = "too_many_tasks"
	CodeItemIDsNotUnique     Code = "item_ids_not_unique"
	CodeDefinitionInvalid    Code = "definition_invalid"
	CodeExpressionInvalid    Code = "expression_invalid"
	CodeExpressionFailed     Code = "expression_failed"
	CodeArchiveTooLarge      Code = "archive_too_large"
	CodeTestsInvalid         Code = "tests_invalid"
	CodeTestsStopped         Code = "tests_stopped"
	CodeTaskNotRetryable     Code = "task_not_retryable"
	CodeIdempotencyKeyReused Code = "idempotency_key_reused"

	// Of the device grant (RFC 8628), 400.
	CodeAuthorizationPending Code = "authorization_pending"
	CodeSlowDown             Code = "slow_down"
	CodeAccessDenied         Code = "access_denied"
	CodeExpiredToken         Code = "expired_token"

	CodeRateLimited Code = "rate_limited" // 429
	CodeQueueFull   Code = "queue_full"

	CodeInternal       Code = "internal"       // 500
	CodeUnavailable    Code = "unavailable"    // 503
	CodeQuotaExceeded  Code = "quota_exceeded" // 507, 429 with RetryAfter
	CodeStorageReserve Code = "storage_reserve"
)
