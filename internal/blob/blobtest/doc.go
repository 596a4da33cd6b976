// Package blobtest is the suite that every place for contents passes (internal/blob).
package blobtest
