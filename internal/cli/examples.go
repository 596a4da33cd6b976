package cli

import (
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

func newExamples(con console) *cobra.Command {
	return group("examples", "Help to try the examples", newExamplesServe(con))
}

func newExamplesServe(con console) *cobra.Command {
	var address string
	var slowness time.Duration
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Play the outside world of the examples: a customer service that is slow and sometimes fails",
		Args:  exactArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := (&net.ListenConfig{}).Listen(cmd.Context(), "tcp", address)
			if err != nil {
				return err
			}
			fmt.Fprintf(con.err, "customer service on http://%s/customers/c-1\n", l.Addr())
			server := &http.Server{Handler: &customers{slowness: slowness}, ReadHeaderTimeout: 5 * time.Second}
			go func() {
				<-cmd.Context().Done()
				server.Close()
			}()
			if err := server.Serve(l); err != http.ErrServerClosed {
				return err
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&address, "listen", "127.0.0.1:8099", "address to listen on")
	cmd.Flags().DurationVar(&slowness, "slowness", 30*time.Millisecond, "time for each answer")
	return cmd
}

const (
	knownCustomers = 9
	maxRemembered  = 10_000
)

// customers answers GET /customers/c-N for N from 1 to 9. Of each customer, the first calls
// fail: none, one or two, depending on the id; then they succeed until the next round.
type customers struct {
	slowness time.Duration

	mu    sync.Mutex
	calls map[string]int
}

func (c *customers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-time.After(c.slowness):
	case <-r.Context().Done():
		return
	}
	id, found := strings.CutPrefix(r.URL.Path, "/customers/c-")
	n, err := strconv.Atoi(id)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !found || err != nil || n < 1 || n > knownCustomers:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintln(w, `{"message":"there is no such customer"}`)
	case c.fails(id):
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, `{"message":"try again"}`)
	default:
		cities := []string{"Berlin", "Lisbon", "Oslo"}
		tier := "silver"
		if n%4 == 0 {
			tier = "gold"
		}
		fmt.Fprintf(w, `{"id":"c-%d","name":"Customer %d","city":"%s","tier":"%s"}`+"\n", n, n, cities[n%len(cities)], tier)
	}
}

// fails decides without chance, so that the example runs the same way every time.
func (c *customers) fails(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil || len(c.calls) > maxRemembered {
		c.calls = map[string]int{}
	}
	hash := fnv.New32a()
	hash.Write([]byte(id))
	failures := int(hash.Sum32() % 3)
	c.calls[id]++
	if c.calls[id] <= failures {
		return true
	}
	if c.calls[id] > failures+2 {
		c.calls[id] = 0
	}
	return false
}
