// Package loglimit bounds how many lines of the log a flood of equal happenings makes: of each kind some a
// minute, and some of all kinds together. What was left out is counted and told at the end of the minute.
package loglimit
