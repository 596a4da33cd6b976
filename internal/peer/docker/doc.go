// Package docker is a container engine for tests: it speaks enough of the Docker Engine API,
// and its containers run functions of the test. It shares no code with what is tested.
package docker
