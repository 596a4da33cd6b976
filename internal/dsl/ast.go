package dsl

// Operand is a property of the definition that may hold an expression. Pointer is its JSON pointer
// into the definition; an absent operand has the pointer "" (the root is no operand).
// In expression operands (T4) Value is always a string; in value operands it is any JSON value:
// nil, bool, int, *big.Int, float64, string, []any or map[string]any.
// Values are shared with Document.Value and must not be changed.
type Operand struct {
	Pointer string
	Value   any
}

// Present reports whether the definition has this operand (perhaps with the value null).
func (s Operand) Present() bool { return s.Pointer != "" }

// Text is the operand's value if it is a text, and "" otherwise.
func (s Operand) Text() string {
	text, _ := s.Value.(string)
	return text
}

// Entry is one named component of `use`.
type Entry[T any] struct {
	Name    string
	Pointer string
	Value   T
}

// Table holds named components in the order of the definition. The zero Table is empty.
type Table[T any] struct {
	Entries []Entry[T]
	byName  map[string]int
}

// Get finds a component by name.
func (t *Table[T]) Get(name string) (T, bool) {
	at, ok := t.byName[name]
	if !ok {
		var none T
		return none, false
	}
	return t.Entries[at].Value, true
}

func (t *Table[T]) add(name, pointer string, value T) {
	if t.byName == nil {
		t.byName = make(map[string]int)
	}
	t.byName[name] = len(t.Entries)
	t.Entries = append(t.Entries, Entry[T]{Name: name, Pointer: pointer, Value: value})
}

// Use holds the reusable components of a definition (docs/language/document.md).
type Use struct {
	Authentications Table[*Authentication]
	Catalogs        Table[*Endpoint]
	Errors          Table[*Error]
	Extensions      []*Extension
	Functions       Table[*Task]
	Retries         Table[*Retry]
	Secrets         []string
	Timeouts        Table[*Timeout]
}

// Extension is one entry of `use.extensions`; their order counts (T35).
type Extension struct {
	Name    string
	Pointer string
	Extend  string  // a task kind, "composite" or "all"
	When    Operand // expression operand
	Before  []*Task
	After   []*Task
}

// Input is the `input` of a workflow or task. From is an expression operand when it is a text,
// a value operand when it is an object.
type Input struct {
	Pointer string
	Schema  *Schema
	From    Operand
}

// Output is the `output` or the `export` of a workflow, task or iterator. As is an expression
// operand when it is a text, a value operand when it is an object.
type Output struct {
	Pointer string
	Schema  *Schema
	As      Operand
}

// Schema holds exactly one of Document and Resource.
type Schema struct {
	Pointer  string
	Format   string  // "json" where the definition says nothing
	Document Operand // literal: no expression is evaluated in it
	Resource *Resource
}

// Resource is an external resource.
type Resource struct {
	Pointer  string
	Name     string
	Endpoint *Endpoint
}

// Endpoint is a URI (template or expression) with optional authentication. URI.Pointer names
// the text itself, which is the endpoint or its property `uri`.
type Endpoint struct {
	Pointer        string
	URI            Operand
	Authentication *Authentication
}

// Authentication is a policy. Exactly one of Use, Basic, Bearer, Digest, OAuth2 and OIDC is set.
type Authentication struct {
	Pointer string
	Use     string // name of an entry of use.authentications
	Basic   *Password
	Bearer  *Bearer
	Digest  *Password
	OAuth2  *OAuth2
	OIDC    *OAuth2
}

// Password is basic or digest authentication, inline or by the name of a secret (T68).
type Password struct {
	Pointer  string
	Secret   string // name of a secret; the others are absent then
	Username Operand
	Password Operand
}

// Bearer is bearer authentication, inline or by the name of a secret (T68).
type Bearer struct {
	Pointer string
	Secret  string
	Token   Operand
}

// OAuth2 is the configuration of `oauth2` and `oidc`; the endpoints are for `oauth2` only.
type OAuth2 struct {
	Pointer   string
	Secret    string
	Authority Operand
	Grant     string

	ClientID             Operand
	ClientSecret         Operand
	ClientAssertion      Operand
	ClientAuthentication string // default client_secret_post

	Encoding              string // default application/x-www-form-urlencoded
	TokenEndpoint         string // default /oauth2/token
	RevocationEndpoint    string // default /oauth2/revoke
	IntrospectionEndpoint string // default /oauth2/introspect

	Issuers   []Operand
	Scopes    []Operand
	Audiences []Operand
	Username  Operand
	Password  Operand
	Subject   *OAuth2Token
	Actor     *OAuth2Token
}

// OAuth2Token is a security token with its type.
type OAuth2Token struct {
	Pointer string
	Token   Operand
	Type    Operand
}

// Timeout is inline (After) or the name of an entry of use.timeouts (Name).
type Timeout struct {
	Pointer string
	Name    string
	After   *Duration
}

// Error is an error definition (docs/language/errors.md). Type and Status are present.
type Error struct {
	Pointer  string
	Type     Operand // URI or ${ }
	Status   Operand // integer
	Instance Operand // JSON pointer or ${ }; the runtime's value wins (T34)
	Title    Operand
	Detail   Operand
}

// Retry is a retry policy, inline or (Name) the name of an entry of use.retries.
type Retry struct {
	Pointer    string
	Name       string
	When       Operand // expression operand
	ExceptWhen Operand // expression operand
	Delay      *Duration
	Backoff    Backoff
	Limit      RetryLimit
	JitterFrom *Duration
	JitterTo   *Duration
}

// Backoff says how the delay grows (T20).
type Backoff uint8

// The kinds of backoff. A policy without `backoff` is constant.
const (
	BackoffConstant Backoff = iota
	BackoffLinear
	BackoffExponential
)

// RetryLimit bounds retries (T19).
type RetryLimit struct {
	Pointer         string // "" without `limit`
	AttemptCount    *int   // retries after the first run; nil: unlimited
	AttemptDuration *Duration
	Duration        *Duration
}

// Schedule is the `schedule` of a workflow (docs/language/schedules.md).
type Schedule struct {
	Pointer string
	Every   *Duration
	Cron    Operand // literal text
	After   *Duration
	On      *Strategy
	Read    string // "" where the definition says nothing (T61)
}

// Mode is the evaluation mode of expressions (T4).
type Mode uint8

// The evaluation modes.
const (
	Strict Mode = iota
	Loose
)

// Evaluate configures expressions. Without `evaluate` it is {"jq", Strict} with no pointer.
type Evaluate struct {
	Pointer  string
	Language string
	Mode     Mode
}

// Flow is the kind of a flow directive.
type Flow uint8

// The flow directives. FlowNone stands for an absent `then`.
const (
	FlowNone Flow = iota
	FlowContinue
	FlowExit
	FlowEnd
	FlowJump
)

// Directive is a `then`.
type Directive struct {
	Pointer string
	Flow    Flow
	Target  string // name of a task of the same list, for FlowJump
}
