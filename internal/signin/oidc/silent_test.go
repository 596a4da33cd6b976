package oidc

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// silent is a provider that does not answer before the test lets it.
type silent struct {
	asked  atomic.Int64
	answer chan *http.Response
}

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case a := <-s.answer:
		return a, nil
	}
}

// TestASilentProviderKeepsNoSignInWaiting: it is asked once for all, a sign-in waits 3 seconds at most, and after the
// first failure 1 second. When it answers again, it is used.
func TestASilentProviderKeepsNoSignInWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const issuer = "https://id.example.org"
		s := &silent{answer: make(chan *http.Response)}
		p := New(Setting{Name: "company", Issuer: issuer, ClientID: "chargehand"}, s, nil)
		tried := func(most time.Duration) {
			t.Helper()
			begun := time.Now()
			if _, err := p.Begin(context.Background(), callback, false); !errors.Is(err, ErrUnreachable) {
				t.Errorf("begun: %v", err)
			}
			if took := time.Since(begun); took > most {
				t.Errorf("it took %s", took)
			}
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { tried(askWait) })
		}
		all.Wait()
		tried(0) // the same question, which is 3 seconds old
		if n := s.asked.Load(); n != 1 {
			t.Errorf("asked %d times", n)
		}
		time.Sleep(askTime) // virtual: now the question has failed
		synctest.Wait()
		tried(againWait) // asks again
		if n := s.asked.Load(); n != 2 {
			t.Errorf("asked %d times", n)
		}
		header := http.Header{"Content-Type": {"application/json"}}
		body := `{"issuer":"` + issuer + `","authorization_endpoint":"` + issuer + `/auth","token_endpoint":"` + issuer + `/token","jwks_uri":"` + issuer + `/keys"}`
		s.answer <- &http.Response{StatusCode: http.StatusOK, Header: header, Body: http.NoBody}
		synctest.Wait()
		tried(0) // an answer that is none is a failure too
		time.Sleep(askEvery)
		go func() {
			s.answer <- &http.Response{StatusCode: http.StatusOK, Header: header, Body: readCloser{strings.NewReader(body)}}
		}()
		if begun, err := p.Begin(context.Background(), callback, false); err != nil || !strings.HasPrefix(begun.Address, issuer+"/auth?") {
			t.Errorf("it answers again: %q, %v", begun.Address, err)
		}
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
