package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/chargehand/chargehand"
)

// uiEndpoint answers what no other route does, to browsers that ask for a page: the UI draws what the address says.
var uiEndpoint = endpoint{method: get, path: "/*", id: "GET /*", browsed: true, page: true, serve: (*call).uiPage}

// uiEndpoints are the files of the UI.
func uiEndpoints() []endpoint {
	return []endpoint{
		{method: get, path: "/assets/{asset}", id: "GET /assets/{asset}", page: true, serve: (*call).uiAsset},
		{method: get, path: "/licences", id: "GET /licences", page: true, serve: (*call).uiLicences},
	}
}

// notPages are the beginnings of paths that are answered to programs, or by pages of their own.
var notPages = []string{"/api/", "/assets/", "/t/", "/in/", "/schemas/", "/docs/"}

// isUIPage reports whether the UI answers a path that is in no route.
func (c *call) isUIPage() bool {
	if c.server.ui == nil || c.match.node != nil || c.r.Method != get && c.r.Method != http.MethodHead || !c.asksForPage() {
		return false
	}
	path := c.r.URL.Path + "/"
	for _, start := range notPages {
		if strings.HasPrefix(path, start) {
			return false
		}
	}
	return true
}

// uiPage is the one page of the UI. A browser without a session is sent to the page to sign in at, which leads back.
func (c *call) uiPage() error {
	if c.server.service != nil && c.browserSession() == nil {
		c.seeOther(pageSignIn + "?return=" + url.QueryEscape(c.r.URL.RequestURI()))
		return nil
	}
	text, policy, err := c.server.ui.Index(c.language())
	if err != nil {
		return err
	}
	c.pageHeaders(policy, "same-origin")
	c.w.Header()["Vary"] = []string{"Accept, Accept-Language"}
	c.send(http.StatusOK, []string{"text/html; charset=utf-8"}, text)
	return nil
}

// uiAsset is a file whose name changes with its content.
func (c *call) uiAsset() error {
	var text []byte
	if c.server.ui == nil || c.server.ui.Asset(c.name) == nil {
		c.route = nil // a program asks
		return chargehand.NewError(chargehand.CodeRouteNotFound, "There is no file "+quote(c.name)+" of the web UI here.")
	}
	asset := c.server.ui.Asset(c.name)
	h := c.w.Header()
	h["Cache-Control"] = []string{"public, max-age=31536000, immutable"}
	h["Vary"] = []string{"Accept-Encoding"}
	if c.notModified(asset.Tag) {
		c.empty(http.StatusNotModified)
		return nil
	}
	if text = asset.Packed; takesGzip(c.r.Header) {
		h["Content-Encoding"] = []string{"gzip"}
	} else {
		var err error
		if text, err = asset.Unpack(); err != nil {
			return err
		}
	}
	c.send(http.StatusOK, []string{asset.Media}, text)
	return nil
}

// takesGzip reports whether the client can unpack gzip.
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		weight = strings.ReplaceAll(weight, " ", "")
		if coding = strings.TrimSpace(coding); (coding == "gzip" || coding == "*") && strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || coding == "gzip" && weight == "" {
			return true
		}
	}
	return false
}

// uiLicences are those of what the UI is made of.
func (c *call) uiLicences() error {
	if c.server.ui == nil {
		c.route = nil
		return chargehand.NewError(chargehand.CodeRouteNotFound, "This server was built without the web UI. `chargehand licences` prints the licences of everything else.")
	}
	c.send(http.StatusOK, []string{"text/plain; charset=utf-8"}, c.server.ui.Notices())
	return nil
}

// backParameter is where a browser goes after a sign-in.
var backParameter = &parameter{name: "return", in: "query", read: func(c *call, value string) (complaint string) {
	if !isLocal(value) {
		return "must be a path of this server, such as /executions."
	}
	c.args.back = value
	return ""
}}

// isLocal reports whether a browser that is sent to an address stays at this server: a second slash, or a backslash,
// which browsers take for one, would begin the name of another.
func isLocal(address string) bool {
	return len(address) <= maxInstance && strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") &&
		!strings.ContainsFunc(address, func(r rune) bool { return r == '\\' || r <= ' ' || r == 0x7f })
}
