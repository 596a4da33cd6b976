// Package iface has the part of the worker controller's types that the server names.
package iface
