package api

import (
	"cmp"
	"net/http"
	"path"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/docs"
	"github.com/chargehand/chargehand/internal/page"
)

// manualEndpoints are the pages of the documentation of this version, for browsers that cannot read it elsewhere.
func manualEndpoints() []endpoint {
	one := func(address string) endpoint {
		return endpoint{method: get, path: address, id: "GET " + address, page: true, lenient: true, serve: (*call).manualPage}
	}
	return []endpoint{one(docs.Root), one(docs.Root + "/{section}"), one(docs.Root + "/{section}/{page}")}
}

// manualPage is a page of the documentation; without a name it is the one with all questions.
func (c *call) manualPage() error {
	name := cmp.Or(path.Join(c.section, c.name), "README")
	found, ok := docs.Find(name)
	if !ok {
		return chargehand.NewError(chargehand.CodeRouteNotFound, "The documentation has no page "+quote(name)+".")
	}
	text, err := page.DrawManual(page.Manual{Lang: c.language(), Title: found.Title, Body: found.Body})
	if err != nil {
		return err
	}
	c.pageHeaders(page.ManualPolicy, "same-origin")
	c.send(http.StatusOK, []string{"text/html; charset=utf-8"}, text)
	return nil
}
