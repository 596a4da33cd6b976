// Package mailserver is a mail server for tests: it speaks SMTP, keeps what it takes, and refuses what a test says.
package mailserver
