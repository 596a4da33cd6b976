package web

import (
	"embed"
	"sync"
)

// dist is what `make build` has made. Without Node it holds nothing, and the program is built all the same.
//
//go:embed all:dist
var dist embed.FS

// Embedded is the UI that is part of this program; nil: it was built without.
var Embedded = sync.OnceValue(func() *UI {
	ui, err := New(dist)
	if err != nil {
		panic(err) // what is embedded was made by this build
	}
	return ui
})
