// Package app is the configuration and the wiring: it alone knows all packages. New puts an
// installation together, Start serves it, Stop ends it in order.
package app
