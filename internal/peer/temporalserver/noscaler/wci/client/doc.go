// Package client answers the server's questions about worker controllers: there are none.
package client
