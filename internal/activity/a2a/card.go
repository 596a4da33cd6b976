package a2a

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	maxCards      = 256
	maxCardBytes  = 1 << 20
	cardFreshness = time.Minute
	cardLongest   = time.Hour
)

// cards remembers where the agents of cards are.
type cards struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]knownCard
}

type knownCard struct {
	endpoint *url.URL
	until    time.Time
}

func newCards(now func() time.Time) *cards {
	return &cards{now: now, known: map[string]knownCard{}}
}

// endpoint is the address of the agent whose card lies at address. Cards are kept apart by
// owner, because another owner may see other cards.
func (c *cards) endpoint(ctx context.Context, client *http.Client, owner string, address *url.URL) (*url.URL, *machine.Fault) {
	key := owner + " " + address.String()
	c.mu.Lock()
	known, ok := c.known[key]
	c.mu.Unlock()
	if ok && c.now().Before(known.until) {
		return known.endpoint, nil
	}
	card, fresh, fault := fetch(ctx, client, address)
	if fault != nil {
		return nil, fault
	}
	endpoint, fault := endpointOf(card, address)
	if fault != nil {
		return nil, fault
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCards {
		clear(c.known) // rare, and a card is soon fetched again
	}
	c.known[key] = knownCard{endpoint, c.now().Add(fresh)}
	return endpoint, nil
}

func fetch(ctx context.Context, client *http.Client, address *url.URL) (map[string]any, time.Duration, *machine.Fault) {
	where := "fetch the agent card " + failure.ShownURL(address)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, 0, failure.Configuration(err.Error())
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, 0, failure.Connection(where, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, 0, failure.Status(where, resp)
	}
	data, err := io.ReadAll(remote.Limit(resp.Body, maxCardBytes))
	if errors.Is(err, remote.ErrTooLarge) {
		return nil, 0, failure.Configuration(fmt.Sprintf("%s: the card has more than %d bytes", where, maxCardBytes))
	}
	if err != nil {
		return nil, 0, failure.Connection(where, err)
	}
	value, err := value.Parse(data, value.Limits{})
	card, isObject := value.(map[string]any)
	if err != nil || !isObject {
		return nil, 0, failure.Configuration(where + ": the card is no JSON object")
	}
	return card, freshness(resp.Header.Get("Cache-Control")), nil
}

func freshness(control string) time.Duration {
	for directive := range strings.SplitSeq(control, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.ToLower(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			if age, err := time.ParseDuration(value + "s"); err == nil && age >= 0 {
				return min(age, cardLongest)
			}
		}
	}
	return cardFreshness
}

// jsonRPC is the binding that this client speaks.
const jsonRPC = "JSONRPC"

// endpointOf finds the interface of a card that speaks JSON-RPC: the preferred one (0.2, 0.3),
// an additional one (0.3), or one of the supported ones (1.0).
func endpointOf(card map[string]any, address *url.URL) (*url.URL, *machine.Fault) {
	offered := []string{}
	take := func(at, transport any) (*url.URL, bool) {
		text, _ := at.(string)
		binding, named := transport.(string)
		if !named {
			binding = jsonRPC
		}
		if text == "" {
			return nil, false
		}
		u, err := address.Parse(text)
		where := "an address that cannot be read"
		if err == nil {
			where = failure.ShownURL(u)
		}
		offered = append(offered, binding+" at "+where)
		return u, err == nil && binding == jsonRPC && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	}
	if u, ok := take(card["url"], card["preferredTransport"]); ok {
		return u, nil
	}
	for _, list := range []string{"additionalInterfaces", "supportedInterfaces"} {
		interfaces, _ := card[list].([]any)
		for _, item := range interfaces {
			entry, _ := item.(map[string]any)
			binding := entry["transport"]
			if binding == nil {
				binding = entry["protocolBinding"]
			}
			if u, ok := take(entry["url"], binding); ok {
				return u, nil
			}
		}
	}
	if len(offered) == 0 {
		offered = []string{"none"}
	}
	return nil, failure.Configuration(fmt.Sprintf("the agent card %s has no http or https address that speaks %s; it offers %s",
		failure.ShownURL(address), jsonRPC, excerpt.Clip(strings.Join(offered, ", "), failure.ClipBytes)))
}
