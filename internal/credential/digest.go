package credential

import (
	"crypto/md5" //nolint:gosec // RFC 7616 keeps MD5 for servers that know nothing else.
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	nethttp "net/http"
	"slices"
	"strings"
	"sync"

	"github.com/icholy/digest"
	"golang.org/x/net/http/httpguts"

	"github.com/chargehand/chargehand/internal/machine"
)

// password is a user of digest authentication (RFC 7616). The key names it without telling it.
type password struct {
	user, secret string
	key          string
}

func newPassword(user, secret string) *password {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d:%s%s", len(user), user, secret)))
	return &password{user: user, secret: secret, key: hex.EncodeToString(sum[:])}
}

// challenge is what a server asked, and how often its nonce was used.
type challenge struct {
	asked   *digest.Challenge
	session bool // the algorithm's name ended in -sess

	mu    sync.Mutex
	count int
}

// answerChallenge sends req with an answer to the last known challenge of the origin, and
// once more where the server asks anew: for the first time, or because the nonce is stale.
func (s *Source) answerChallenge(base nethttp.RoundTripper, to string, user *password, req *nethttp.Request) (*nethttp.Response, error) {
	key := to + " " + user.key
	first := req
	if known, found := s.challenges.Get(key); found {
		answer, err := known.answer(req, user)
		if err != nil {
			closeBody(req)
			return nil, err
		}
		first = authorized(req, answer)
	}
	resp, err := base.RoundTrip(first)
	if err != nil || resp.StatusCode != nethttp.StatusUnauthorized {
		return resp, err
	}
	asked := findChallenge(resp.Header)
	if asked == nil {
		return resp, nil
	}
	second, repeatable := again(req)
	if !repeatable {
		return resp, nil
	}
	drain(resp)
	answer, err := asked.answer(second, user)
	if err != nil {
		closeBody(second)
		return nil, err
	}
	resp, err = base.RoundTrip(authorized(second, answer))
	if err == nil && resp.StatusCode != nethttp.StatusUnauthorized {
		s.challenges.Put(key, asked, 0)
	}
	return resp, err
}

// answer computes the Authorization header for a request. The count of uses goes up.
func (c *challenge) answer(req *nethttp.Request, user *password) (string, error) {
	c.mu.Lock()
	c.count++
	count := c.count
	c.mu.Unlock()
	options := digest.Options{
		Method: req.Method, URI: req.URL.RequestURI(), GetBody: req.GetBody, Count: count,
		Username: user.user, Password: user.secret, Cnonce: rand.Text(),
	}
	if c.session {
		plain := hashed(c.asked.Algorithm, user.user+":"+c.asked.Realm+":"+user.secret)
		options.A1 = hashed(c.asked.Algorithm, plain+":"+c.asked.Nonce+":"+options.Cnonce)
	}
	credentials, err := digest.Digest(c.asked, options)
	if err != nil {
		return "", refused("the digest challenge cannot be answered: " + err.Error())
	}
	if c.session {
		credentials.Algorithm += "-sess"
	}
	value := credentials.String()
	if !httpguts.ValidHeaderFieldValue(value) {
		return "", refused("the digest credentials contain characters that a header cannot hold")
	}
	return value, nil
}

func hashed(algorithm, text string) string {
	var h hash.Hash
	switch strings.ToUpper(algorithm) {
	case "SHA-256":
		h = sha256.New()
	case "SHA-512":
		h = sha512.New()
	case "SHA-512-256":
		h = sha512.New512_256()
	default:
		h = md5.New() //nolint:gosec // see the import
	}
	io.WriteString(h, text) //nolint:errcheck // a hash does not fail
	return hex.EncodeToString(h.Sum(nil))
}

// findChallenge picks the first digest challenge that can be answered, which is the one the
// server prefers; nil: none.
func findChallenge(header nethttp.Header) *challenge {
	for _, line := range header.Values("WWW-Authenticate") {
		for _, part := range splitChallenges(line) {
			if !digest.IsDigest(part) {
				continue
			}
			asked, err := digest.ParseChallenge(part)
			if err != nil || asked.Nonce == "" {
				continue
			}
			for i := range asked.QOP {
				asked.QOP[i] = strings.ToLower(strings.TrimSpace(asked.QOP[i]))
			}
			asked.QOP = slices.DeleteFunc(asked.QOP, func(s string) bool { return s == "" })
			found := &challenge{asked: asked}
			if n := len(asked.Algorithm) - len("-sess"); n > 0 && strings.EqualFold(asked.Algorithm[n:], "-sess") {
				asked.Algorithm, found.session = asked.Algorithm[:n], true
			}
			if digest.CanDigest(asked) && (!found.session || len(asked.QOP) > 0) {
				return found
			}
		}
	}
	return nil
}

// splitChallenges divides a header with several challenges (RFC 9110, 11.6.1): a new one
// begins after a comma with a word that no equals sign follows.
func splitChallenges(line string) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted && startsChallenge(line[i+1:]):
			parts = append(parts, strings.TrimSpace(line[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(line[start:]))
}

func startsChallenge(rest string) bool {
	rest = strings.TrimLeft(rest, " \t,")
	end := strings.IndexAny(rest, " \t=,\"")
	if end <= 0 {
		return end < 0 && rest != ""
	}
	after := strings.TrimLeft(rest[end:], " \t")
	return rest[end] != '=' && rest[end] != '"' && !strings.HasPrefix(after, "=")
}

// drain lets the connection be used again, if what comes is short.
func drain(resp *nethttp.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	_ = resp.Body.Close()
}

func closeBody(req *nethttp.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

var _ error = (*machine.Fault)(nil) // RoundTrip returns faults as errors
