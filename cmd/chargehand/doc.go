// Command chargehand is the server and its command line in one binary.
package main
