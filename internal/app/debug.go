package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
)

const (
	// maxProfiles are the profiles that are made at once. A profile of the processors runs alone anyway.
	maxProfiles = 4
	// maxProfileSeconds bounds the seconds that a request may ask for, maxProfileTime what reading its answer may take.
	maxProfileSeconds = 120
	maxProfileTime    = 2 * time.Minute
)

// checkDebugAddress checks --debug-listen. It has to name this machine alone: no key is asked for, and a profile tells
// what the program does and costs processor time.
func checkDebugAddress(text string) error {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		return installation.BadSetting("--debug-listen: %.80q is not an address and a port, such as 127.0.0.1:6060", text)
	}
	if !isLoopback(host) {
		return installation.BadSetting("--debug-listen: %.80q is not an address of this machine alone. Use 127.0.0.1, [::1] or localhost, and a tunnel from elsewhere", text)
	}
	return nil
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && address.Unmap().IsLoopback()
}

// debugHandler answers with profiles of the process, below /debug/pprof/. The arguments of the process are not among
// them, because they may hold passwords. A page in a browser on this machine must not read them under a name that it
// has pointed here, so requests have to name the machine itself.
func debugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
	permits := make(chan struct{}, maxProfiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if site := r.Header.Get("Sec-Fetch-Site"); !isLoopback(host) || site == "cross-site" || site == "same-site" {
			http.Error(w, "Profiles are for clients on this machine and not for pages of others: ask for localhost or 127.0.0.1.", http.StatusForbidden)
			return
		}
		if text := r.URL.Query().Get("seconds"); text != "" {
			if seconds, err := strconv.ParseFloat(text, 64); err != nil || !(seconds > 0 && seconds <= maxProfileSeconds) {
				http.Error(w, fmt.Sprintf("seconds: a number above 0 and up to %d.", maxProfileSeconds), http.StatusBadRequest)
				return
			}
		}
		select {
		case permits <- struct{}{}:
			defer func() { <-permits }()
			mux.ServeHTTP(w, r)
		default:
			http.Error(w, fmt.Sprintf("%d profiles are being made already. Ask again when one has ended.", maxProfiles), http.StatusTooManyRequests)
		}
	})
}

// serveDebug serves profiles on l until ctx ends.
func (a *App) serveDebug(ctx context.Context, l net.Listener) {
	server := &http.Server{
		Handler: debugHandler(), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: maxProfileTime, IdleTimeout: maxProfileTime, MaxHeaderBytes: 1 << 14,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	closing := context.AfterFunc(ctx, func() { server.Close() })
	defer closing()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		a.log.Error("profiles are not served any more", "error", err)
	}
}
