// Package failure makes the faults of calls: of connections that failed, of answers, and of
// calls that cannot be made. What it shows of addresses and errors holds no secrets.
package failure
