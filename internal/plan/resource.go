package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// MaxResources bounds the external resources of one definition.
	MaxResources = 64
	// MaxResourceBytes bounds one of them.
	MaxResourceBytes = 1 << 20
)

// The kinds of external resources that are fetched when a definition is applied (T69).
const (
	ResourceSchema   = "schema"
	ResourceProto    = "proto"
	ResourceScript   = "script"
	ResourceFunction = "function"
)

// Wanted is an external resource that a definition needs and Options.Resources lacks.
type Wanted struct {
	// Key is its name in Options.Resources. It is the URI, and more if the request is
	// authenticated: what is behind one address may depend on who asks.
	Key     string
	URI     string
	Kind    string
	Pointer string // of the place in the definition that asks for it
	// Authentication is how the request is authenticated, in the shape that activities take;
	// nil: not at all. Authentication by expressions or secrets is not known before a run.
	Authentication value.Value
}

// Pinned is an external resource that a plan was compiled with. It is part of the digest.
type Pinned struct {
	Key    string // as of Wanted
	Kind   string
	Digest [sha256.Size]byte
}

// Resource is an argument of an activity that comes from elsewhere: content that was pinned
// when the definition was applied, or an address that the activity reads when it runs.
type Resource struct {
	Name     string
	Endpoint *Endpoint // nil: the content is pinned
	Content  string
	Digest   string // sha256:<hex> of the content
}

// availability says what is known of a resource.
type availability uint8

const (
	available    availability = iota
	missing                   // it is listed as wanted, or refused; no problem needs to be reported
	inconstant                // its address depends on the data
	unauthorized              // its authentication depends on the data or on secrets
)

// fetched finds the content behind an endpoint. What is constant and not at hand is wanted.
func (c *compiler) fetched(e *dsl.Endpoint, kind string, at location) ([]byte, availability) {
	compiled := c.endpoint(e, at)
	if compiled == nil {
		return nil, missing
	}
	uri, ok := compiled.Constant()
	if !ok {
		return nil, inconstant
	}
	authentication, ok := compiled.Authentication.Constant()
	if !ok {
		return nil, unauthorized
	}
	return c.fetchedURI(uri, kind, e.Pointer, authentication)
}

func (c *compiler) fetchedURI(uri, kind, pointer string, authentication value.Value) ([]byte, availability) {
	s := c.shared
	pointer = c.rootPointer(pointer)
	key := resourceKey(uri, authentication)
	content, ok := c.options.Resources[key]
	if !ok && s.stored { // it may be from when all requests for an address shared what one of them got
		if content, ok = c.options.Resources[uri]; ok {
			key = uri
		}
	}
	if !s.asked[key] {
		if len(s.asked) == MaxResources {
			c.fail(pointer, CodeTooManyResources,
				fmt.Sprintf("The definition needs more than %d external resources.", MaxResources), "Put some of them into the definition.")
			return nil, missing
		}
		s.asked[key] = true
		if ok {
			s.pinned = append(s.pinned, Pinned{Key: key, Kind: kind, Digest: sha256.Sum256(content)})
		} else {
			s.wanted = append(s.wanted, Wanted{Key: key, URI: uri, Kind: kind, Pointer: pointer, Authentication: authentication})
		}
	}
	switch {
	case !ok:
		return nil, missing
	case len(content) > MaxResourceBytes:
		c.fail(pointer, CodeResource, fmt.Sprintf("The resource %s has %d bytes; at most %d are allowed.", uri, len(content), MaxResourceBytes), "")
		return nil, missing
	}
	return content, available
}

// resourceKey tells requests for one address apart by their authentication. It holds no more of
// that than it needs to: the key is stored.
func resourceKey(uri string, authentication value.Value) string {
	if authentication == nil {
		return uri
	}
	sum := sha256.Sum256(value.Marshal(authentication)) // keys are written in order
	return uri + " " + hex.EncodeToString(sum[:4])
}

// resource adds an argument that is pinned if its address is constant, and else read when
// the task runs. The content is nil then.
func (c *compiler) resource(a *Activity, name, kind string, r *dsl.Resource, at location) []byte {
	if r == nil || r.Endpoint == nil {
		return nil
	}
	content, state := c.fetched(r.Endpoint, kind, at)
	switch state {
	case available:
		a.Resources = append(a.Resources, Resource{Name: name, Content: string(content), Digest: digestText(content)})
	case inconstant, unauthorized:
		a.Resources = append(a.Resources, Resource{Name: name, Endpoint: c.endpoint(r.Endpoint, at)})
	case missing:
	}
	return content
}

func digestText(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// address adds an argument that is always read when the task runs.
func (c *compiler) address(a *Activity, name string, e *dsl.Endpoint, at location) {
	if e != nil {
		a.Resources = append(a.Resources, Resource{Name: name, Endpoint: c.endpoint(e, at)})
	}
}

// commitName matches what is a commit or a version tag rather than a branch.
var commitName = regexp.MustCompile(`^([0-9a-f]{7,40}|v?[0-9]+(\.[0-9]+)+.*|HEAD|refs)$`)

// rawURI leads to the content where the given address shows a page of GitHub or GitLab
// around it (docs/language/functions.md). Other addresses stay what they are. root says that the
// address may be that of a repository.
func rawURI(address string, root bool) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return address
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch host := strings.TrimPrefix(strings.ToLower(u.Host), "www."); {
	case host == "github.com" && len(parts) >= 4 && (parts[2] == "tree" || parts[2] == "blob" || parts[2] == "raw"):
		ref := parts[3]
		if !commitName.MatchString(ref) {
			ref = "refs/heads/" + ref
		}
		u.Host, u.Path = "raw.githubusercontent.com", join(parts[0], parts[1], ref, join(parts[4:]...))
	case host == "github.com" && len(parts) == 2 && root:
		u.Host, u.Path = "raw.githubusercontent.com", join(parts[0], strings.TrimSuffix(parts[1], ".git"), "HEAD")
	case strings.Contains(u.Path, "/-/tree/"):
		u.Path = strings.Replace(u.Path, "/-/tree/", "/-/raw/", 1)
	case strings.Contains(u.Path, "/-/blob/"):
		u.Path = strings.Replace(u.Path, "/-/blob/", "/-/raw/", 1)
	case host == "gitlab.com" && len(parts) >= 2 && root && !strings.Contains(u.Path, "/-/"):
		u.Path = join(strings.TrimSuffix(join(parts...), ".git"), "-/raw/HEAD")
	default:
		return address
	}
	u.Path, u.RawPath = "/"+strings.Trim(u.Path, "/"), ""
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}

func join(parts ...string) string { return strings.Trim(strings.Join(parts, "/"), "/") }
