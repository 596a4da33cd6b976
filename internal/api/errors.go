package api

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// maxFields is the maximum of entries in the errors of one problem.
const maxFields = 100

// problemType is what one error code means to HTTP and to people.
type problemType struct {
	status int
	title  string
	about  string // what happened and what to do
}

// problemTypes is the only mapping of error codes to status codes (docs/reference/api.md "Errors").
var problemTypes = map[chargehand.Code]problemType{
	chargehand.CodeInvalidJSON: {http.StatusBadRequest, "The body is not valid JSON",
		"The body cannot be read as one JSON text in UTF-8. Duplicate keys, lone surrogates, NaN, numbers outside the range, more than 64 levels of nesting and text after the value count too. The entry in errors says where it went wrong."},
	chargehand.CodeInvalidParameter: {http.StatusBadRequest, "A parameter has a bad value",
		"A query parameter or a header has a value that cannot be used. The entry in errors names it."},
	chargehand.CodeUnknownParameter: {http.StatusBadRequest, "There is no such parameter",
		"The query names a parameter that this operation does not have. The entry in errors says which one was probably meant."},
	chargehand.CodeInvalidBody: {http.StatusBadRequest, "The body cannot be used",
		"A field is missing or has the wrong type, or the body did not arrive as announced. The entries in errors point to the fields."},
	chargehand.CodeUnknownField: {http.StatusBadRequest, "The body has an unknown field",
		"A top-level field of the body is not known here. Often input, inputs and items are confused."},
	chargehand.CodeAmbiguousCredentials: {http.StatusBadRequest, "Two different credentials were sent",
		"The headers x-api-key and Authorization hold different keys, or the request has a key and the cookie of a session. Send one of them."},

	chargehand.CodeAuthorizationPending: {http.StatusBadRequest, "No person has confirmed the code yet",
		"A program asks for the keys of a device code (RFC 8628), and no person has typed its code and confirmed it yet. Ask again after the interval."},
	chargehand.CodeSlowDown: {http.StatusBadRequest, "The program asks too often",
		"A program asks for the keys of a device code before the interval is over (RFC 8628). The interval is 5 seconds longer from then on."},
	chargehand.CodeAccessDenied: {http.StatusBadRequest, "The person has refused",
		"The person who typed the code of the program has refused it, or may not do anything any more. The device code counts no more."},
	chargehand.CodeExpiredToken: {http.StatusBadRequest, "The device code has expired",
		"The device code is not right, was used, or is older than 10 minutes. Start again."},

	chargehand.CodeMissingAPIKey: {http.StatusUnauthorized, "An API key is needed",
		"Send the key in the header x-api-key, or as Authorization: Bearer KEY. A key in a query string is never read."},
	chargehand.CodeInvalidAPIKey: {http.StatusUnauthorized, "The API key is not valid",
		"The key is mistyped, was revoked, or belongs to another installation."},
	chargehand.CodeExpiredAPIKey: {http.StatusUnauthorized, "The API key has expired",
		"The key was valid until its expiry time. Create a new one."},

	chargehand.CodeInvalidCredentials: {http.StatusUnauthorized, "The sign-in failed",
		"A password, passkey, token or link is wrong, was used, or has expired, or the session has ended. Which part of a sign-in was wrong is not said."},

	chargehand.CodeFreshSignInRequired: {http.StatusForbidden, "A fresh sign-in is needed",
		"What is asked for needs a sign-in within the last 10 minutes. Confirm it with POST /session/verify, and try again."},
	chargehand.CodeCrossOrigin: {http.StatusForbidden, "The request comes from another site",
		"A browser sent the request for a page of another origin. Requests that change something, or sign in, count from the server's own pages only."},
	chargehand.CodeHTTPSRequired: {http.StatusForbidden, "Sign-in needs https",
		"Over plain http from another machine, passwords and sessions could be read on the way. The detail says what to set."},
	chargehand.CodeAddressNotAllowed: {http.StatusForbidden, "The API key may not be used from here",
		"The key has a list of addresses that it may be used from, and the request comes from another one. Behind a proxy, the server must trust it (--trusted-proxy)."},
	chargehand.CodeNotAssigned: {http.StatusForbidden, "The task is assigned to others",
		"Only the people whom a human task is assigned to answer it. Someone with executions:manage may reassign it."},
	chargehand.CodeExcluded: {http.StatusForbidden, "The task excludes this person",
		"The workflow says that this person does not answer, in whatever way: often because the same person has made what is to be checked."},
	chargehand.CodeInsufficientScope: {http.StatusForbidden, "A scope is missing",
		"The key or user is known, but lacks a scope that this operation needs. The detail names it."},

	chargehand.CodeWorkflowNotFound: {http.StatusNotFound, "There is no such workflow",
		"No workflow with this id can be seen with this key: it does not exist, was deleted, has drafts only, or lies outside what the key may see."},
	chargehand.CodeVersionNotFound: {http.StatusNotFound, "There is no such version",
		"The workflow has no version of this name."},
	chargehand.CodeExecutionNotFound: {http.StatusNotFound, "There is no such execution",
		"No execution of this workflow with this id can be seen with this key."},
	chargehand.CodeBatchNotFound: {http.StatusNotFound, "There is no such batch",
		"No batch of this workflow with this id can be seen with this key."},
	chargehand.CodeFileNotFound: {http.StatusNotFound, "There is no such file",
		"No file with this id can be seen with this key, or the signature of the link is wrong."},
	chargehand.CodeHumanTaskNotFound: {http.StatusNotFound, "There is no such human task",
		"No human task with this id can be seen with this key or by this user."},
	chargehand.CodeTaskLinkNotFound: {http.StatusNotFound, "There is no such link",
		"The human task has no link with this id."},
	chargehand.CodeKeyNotFound: {http.StatusNotFound, "There is no such API key",
		"No API key with this id can be seen with this key."},
	chargehand.CodeSecretNotFound: {http.StatusNotFound, "There is no such secret",
		"The environment of this key has no secret of this name. Names are compared letter by letter."},
	chargehand.CodeAccountNotFound: {http.StatusNotFound, "There is no such account",
		"No account with this id has you as an active member."},
	chargehand.CodeUserNotFound: {http.StatusNotFound, "There is no such user",
		"No user with this id is a member of the account."},
	chargehand.CodeGroupNotFound: {http.StatusNotFound, "There is no such group",
		"The account has no group with this id."},
	chargehand.CodeProviderNotFound: {http.StatusNotFound, "There is no such identity provider",
		"The server has no identity provider of this name. GET /auth/methods lists those that it has."},
	chargehand.CodeNotInvited: {http.StatusForbidden, "This person is not invited",
		"The identity provider has signed the person in, but the person is no user here. An admin invites the e-mail that the provider has checked."},
	chargehand.CodePasskeyNotFound: {http.StatusNotFound, "There is no such passkey",
		"The person who is signed in has no passkey with this id."},
	chargehand.CodeGrantNotFound: {http.StatusNotFound, "There is no such grant",
		"The account has no grant with this id."},
	chargehand.CodeSessionNotFound: {http.StatusNotFound, "There is no such session",
		"You have no session with this id. It may have ended."},
	chargehand.CodeOperationNotFound: {http.StatusNotFound, "There is no such operation",
		"No operation with this id can be seen with this key. Operations are kept for 30 days after their end."},
	chargehand.CodeProblemNotFound: {http.StatusNotFound, "There is no such problem type",
		"The address does not name an error code of this server."},
	chargehand.CodeRouteNotFound: {http.StatusNotFound, "There is nothing at this address",
		"The path is not one of this interface. All paths are in the OpenAPI document."},

	chargehand.CodeMethodNotAllowed: {http.StatusMethodNotAllowed, "The method is not allowed here",
		"The path exists, but not with this method. The header Allow lists the methods."},
	chargehand.CodePreconditionFailed: {http.StatusPreconditionFailed, "A precondition failed",
		"The content is not the one that the headers If-Match or If-Unmodified-Since ask for."},
	chargehand.CodeRevisionConflict: {http.StatusPreconditionFailed, "The workflow has changed since",
		"The header If-Match does not name the workflow as it is. Read it, and apply what you have changed again."},
	chargehand.CodePayloadTooLarge: {http.StatusRequestEntityTooLarge, "The body is too large",
		"The body is larger than this operation accepts. The detail gives the limit."},
	chargehand.CodeUnsupportedMediaType: {http.StatusUnsupportedMediaType, "The media type is not supported",
		"Content-Type or Content-Encoding names something that this operation cannot read. The detail lists what it can."},
	chargehand.CodeRangeNotSatisfiable: {http.StatusRequestedRangeNotSatisfiable, "The range lies outside the content",
		"The header Range asks for bytes that the content does not have. Content-Range gives its size."},

	chargehand.CodeIdempotencyInProgress: {http.StatusConflict, "The first request with this Idempotency-Key is still running",
		"Another request with the same Idempotency-Key has not been answered yet. Try again in a moment."},
	chargehand.CodeStateConflict: {http.StatusConflict, "The state does not allow this",
		"The resource is in a state in which the operation has no use, such as cancelling what has ended."},
	chargehand.CodeAnswerConflict: {http.StatusConflict, "The task has another answer",
		"The human task was answered before, or by the same person otherwise. Read it to see the answer."},
	chargehand.CodeClaimedByOther: {http.StatusConflict, "Another person has claimed the task",
		"The person who has claimed a human task answers it. Someone with executions:manage may release it with force."},
	chargehand.CodeTaskWithdrawn: {http.StatusConflict, "The task was withdrawn",
		"The execution no longer waits for the answer: it has ended, was cancelled, continued elsewhere, or the time is over."},
	chargehand.CodeRecordingIncomplete: {http.StatusConflict, "Not all of the execution is recorded",
		"What came to the execution from outside is not kept as a whole: it ran too many tasks, received too much, did not start, or began in the middle of its definition."},
	chargehand.CodeLastAdmin: {http.StatusConflict, "The account would have no admin",
		"Every account keeps one active user with the role admin. Make another user an admin first."},
	chargehand.CodeResultExpired: {http.StatusGone, "The link has expired",
		"Links to files are valid for one hour. Read the execution again to get a fresh one."},

	chargehand.CodeSetupDone: {http.StatusGone, "The installation is set up already",
		"There is a person who can sign in, so that no set-up token counts any more."},

	chargehand.CodeInputInvalid: {http.StatusUnprocessableEntity, "The input does not match the schema",
		"The input breaks the workflow's input_schema. The entries in errors point to the fields."},
	chargehand.CodeAnswerInvalid: {http.StatusUnprocessableEntity, "The answer does not fit the task",
		"The outcome, the data or the files are not what the human task asks for. The entries in errors point to the fields. The task stays open."},
	chargehand.CodeItemsEmpty: {http.StatusUnprocessableEntity, "The batch has no items",
		"A batch needs at least one item."},
	chargehand.CodeTooManyItems: {http.StatusUnprocessableEntity, "The batch has too many items",
		"The batch has more items than one request may carry. Send several batches."},
	chargehand.CodeTooManyTasks: {http.StatusUnprocessableEntity, "The answer is for too many tasks",
		"One request answers at most 1,000 human tasks. Nothing was answered. Name fewer, or narrow the filter."},
	chargehand.CodeItemIDsNotUnique: {http.StatusUnprocessableEntity, "Two items have the same id",
		"Every item id may be used once within a batch."},
	chargehand.CodeDefinitionInvalid: {http.StatusUnprocessableEntity, "The definition is not valid",
		"The workflow definition was refused. The entries in errors give line, column and pointer of every problem."},
	chargehand.CodeExpressionInvalid: {http.StatusUnprocessableEntity, "The expression is not valid",
		"The expression cannot be read. The entry in errors gives line and column within it."},
	chargehand.CodeExpressionFailed: {http.StatusUnprocessableEntity, "The expression failed",
		"The expression has no value for this input. The detail says why."},
	chargehand.CodeArchiveTooLarge: {http.StatusUnprocessableEntity, "The execution has too much for one archive",
		"Its files are more, or larger together, than an archive may have: archive_files and archive_bytes of GET /limits. The execution and its timeline have the addresses of all of them."},
	chargehand.CodeTestsInvalid: {http.StatusUnprocessableEntity, "The tests are not valid",
		"The tests of the workflow were refused, and none was run. The entries in errors give line and column of every problem in the text that the pointer names."},
	chargehand.CodeTestsStopped: {http.StatusUnprocessableEntity, "The tests were stopped",
		"The tests of one request may take 10 seconds and 384 MiB together. These took more, and gave no results. The detail says what was too much."},
	chargehand.CodeTaskNotRetryable: {http.StatusUnprocessableEntity, "The retry cannot begin with this task",
		"A retry can begin with a task of the definition's own list that the execution has begun, if the data that the task began with were kept. " +
			"The entry in errors says what is wrong."},
	chargehand.CodeIdempotencyKeyReused: {http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request",
		"The same Idempotency-Key was sent before with a different body. Use a new key for a new request."},

	chargehand.CodeRateLimited: {http.StatusTooManyRequests, "Too many requests",
		"The key has used up its requests for the moment. Retry-After says when to try again."},
	chargehand.CodeQueueFull: {http.StatusTooManyRequests, "Too many executions are queued",
		"The workflow has as many queued executions as it may have. Retry-After says when to try again."},

	chargehand.CodeQuotaExceeded: {http.StatusInsufficientStorage, "A quota is used up",
		"The detail and the field quota name the quota and whose it is; GET /limits shows its use. A quota of space or number is answered with 507: delete what is not needed, or let the operator raise it. A quota of a rate is answered with 429, and Retry-After says when to try again."},
	chargehand.CodeStorageReserve: {http.StatusInsufficientStorage, "The disk of the server is nearly full",
		"New executions and uploads are refused until there is room. What runs continues, and what exists can be read, cancelled and deleted."},

	chargehand.CodeInternal: {http.StatusInternalServerError, "Something went wrong on the server",
		"The fault is the server's. Tell its operator the request_id."},
	chargehand.CodeUnavailable: {http.StatusServiceUnavailable, "The server cannot do this at the moment",
		"The server is starting, stopping, or cannot write to its storage. It may have done what was asked all the same: repeat a POST with the same Idempotency-Key, if it has one. Retry-After says when to try again."},
}

// ProblemType is one error code of the API as its page explains it.
type ProblemType struct {
	Code         chargehand.Code
	Status       int
	Title, About string // About says what happened and what to do
}

// Problems are all error codes of the API, in no order.
func Problems() []ProblemType {
	var list []ProblemType
	for code, p := range problemTypes {
		list = append(list, ProblemType{code, p.status, p.title, p.about})
	}
	return list
}

// retryAfterSeconds is the hint of 429 and 503 where the service gives none.
const retryAfterSeconds = 1

// asProblem turns any error into one that may be shown. The second result is the error to
// log, nil if there is nothing to tell the operator.
func asProblem(err error) (*chargehand.Error, error) {
	var shown *chargehand.Error
	if errors.As(err, &shown) {
		_, known := problemTypes[shown.Code]
		switch {
		case known && shown.Code == chargehand.CodeUnavailable && err.Error() != shown.Error():
			return shown, err // callers see that it is unavailable, the operator why
		case known && shown.Code != chargehand.CodeInternal:
			return shown, nil
		}
	}
	return &chargehand.Error{Code: chargehand.CodeInternal, Detail: internalDetail}, err
}

const internalDetail = "An unexpected error occurred. It was logged under the request_id."

// statusOf is the status of an error. A quota of a rate, which has a time to try again, is no matter of space.
func statusOf(e *chargehand.Error) int {
	if e.Code == chargehand.CodeQuotaExceeded && e.RetryAfter > 0 {
		return http.StatusTooManyRequests
	}
	return problemTypes[e.Code].status
}

// problemText is the problem document of e. base is scheme and host of this server.
func problemText(e *chargehand.Error, base, instance, requestID string) []byte {
	shown := problem{
		Type: base + chargehand.APIPath + "/problems/" + string(e.Code), Title: problemTypes[e.Code].title, Status: statusOf(e),
		Detail: e.Detail, Instance: instance, Code: string(e.Code), Errors: viewFields(e.Fields[:min(len(e.Fields), maxFields)]),
		RequestID: requestID,
	}
	if q := e.Quota; q != nil {
		shown.Quota = &quota{Name: q.Name, Owner: quotaOwner{q.OwnerKind, q.OwnerID}, Limit: q.Limit, Used: q.Used}
	}
	text, err := encode(shown)
	if err != nil {
		panic(err) // texts and numbers alone
	}
	return text
}

// badParameter is the error for a query parameter, header or path segment that cannot be
// used. detail completes the sentence that starts with the name.
func badParameter(name, detail string) error {
	return badParameters([]chargehand.FieldError{badParameterField(name, detail)})
}

func badParameterField(name, detail string) chargehand.FieldError {
	return chargehand.FieldError{Parameter: name, Code: string(chargehand.CodeInvalidParameter), Detail: name + " " + detail}
}

// badParameters is the error for all parameters that are wrong; nil if none is. Its code is that
// of the first.
func badParameters(wrong []chargehand.FieldError) error {
	if len(wrong) == 0 {
		return nil
	}
	detail := wrong[0].Detail
	if len(wrong) > 1 {
		detail = strconv.Itoa(len(wrong)) + " parameters are wrong. " + detail
	}
	return &chargehand.Error{Code: chargehand.Code(wrong[0].Code), Detail: detail, Fields: wrong}
}

// badBody is the error for one field of a body that cannot be used.
func badBody(code chargehand.Code, pointer, detail string) error {
	return &chargehand.Error{
		Code: code, Detail: detail,
		Fields: []chargehand.FieldError{{Pointer: pointer, Code: string(code), Detail: detail}},
	}
}

// badJSON is the error for a body that is no JSON text.
func badJSON(err error) error {
	var syntax *value.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	return &chargehand.Error{
		Code:   chargehand.CodeInvalidJSON,
		Detail: "line " + strconv.Itoa(syntax.Line) + ", column " + strconv.Itoa(syntax.Column) + ": " + syntax.Detail,
		Fields: []chargehand.FieldError{{
			Pointer: syntax.Pointer, Code: syntax.Code, Detail: syntax.Detail, Line: syntax.Line, Column: syntax.Column,
		}},
	}
}

// tooLarge is the error for a body above a limit in bytes.
func tooLarge(limit int64) error {
	return chargehand.NewError(chargehand.CodePayloadTooLarge,
		"The body is larger than "+strconv.FormatInt(limit, 10)+" bytes, the limit of this operation.")
}
