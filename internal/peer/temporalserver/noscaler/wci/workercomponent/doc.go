// Package workercomponent registers no worker controllers with the server.
package workercomponent
