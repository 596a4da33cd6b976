// Package human is the contract of the function human:1.0.0 of the default catalog: what a workflow may say when it
// asks a person (Request), and what a person answers (Answer). The definition is held to it when it is applied, the
// machine holds evaluated arguments to it, and the service reads the rows of human tasks by it. It is pure: it reads no
// clock and no store.
package human
