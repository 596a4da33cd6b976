// Package person holds the rules for what people are called: which e-mail addresses and names are accepted, and when
// two of them are the same. It is a leaf: text in, text or a complaint out.
//
// A text that is shown to other people must not pretend to be another one, so that controls, directions of writing and
// invisible characters are refused. Two texts are the same if their keys are: in one normal form of Unicode, and
// without the difference of case.
package person
