package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hosts are the public names that the stand-in answers to: those of the kit, ours, those
// of the resources of examples, and those of peers (join).
var hosts = []string{"petstore.swagger.io", "httpbin.org", "things.example.com", catalogHost,
	"other.example.com", "mcp.example.com", "agent.example.com", "ws.example.com", "tokens.example.com", "grpc.example.com"}

// standIn plays the outside world of the kit (docs/language/conformance.md), and for our own scenarios
// things.example.com (things_test.go).
type standIn struct {
	address  string // host:port
	caFile   string
	requests atomic.Int64

	certificate tls.Certificate
	peers       *peers                  // nil without join
	handlers    map[string]http.Handler // by host
	further     []string                // mappings

	mu    sync.Mutex
	calls map[string]int      // of things.example.com, by path
	keys  map[string][]string // the idempotency keys that came to things.example.com, by path
}

// count is the number of requests for a path of things.example.com.
func (s *standIn) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[path]
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	s := &standIn{calls: map[string]int{}, keys: map[string][]string{}}
	certificate, authority := issue(t)
	s.certificate = certificate
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	s.caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(s.caFile, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// flags make the binary reach the stand-in under the public names.
func (s *standIn) flags() []string {
	args := []string{"--trusted-ca", s.caFile}
	for _, mapping := range s.mappings() {
		args = append(args, "--connect-to", mapping)
	}
	return args
}

// mappings lead from the public names to the stand-in.
func (s *standIn) mappings() []string {
	host, port, _ := net.SplitHostPort(s.address)
	list := slices.Clone(s.further)
	for _, name := range hosts {
		list = append(list, name+":443:"+host+":"+port)
	}
	return list
}

func (s *standIn) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	if s.servePeers(w, r) {
		return
	}
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	pet := func(id int) map[string]any {
		return map[string]any{"id": id, "name": "Milou", "status": "available"}
	}
	switch path := r.URL.Path; {
	case r.Host == hosts[1] && strings.HasPrefix(path, "/basic-auth/"):
		want := strings.Split(strings.TrimPrefix(path, "/basic-auth/"), "/")
		user, password, ok := r.BasicAuth()
		if !ok || len(want) != 2 || user != want[0] || password != want[1] {
			w.Header().Set("WWW-Authenticate", `Basic realm="stand-in"`)
			answer(http.StatusUnauthorized, nil)
			return
		}
		answer(http.StatusOK, map[string]any{"authenticated": true, "user": user})
	case r.Host == hosts[2], r.Host == "other.example.com":
		s.serveThings(w, r)
	case r.Host == catalogHost && path == catalogLog:
		_, _ = w.Write(logFunction())
	case r.Host != hosts[0]:
		answer(http.StatusMisdirectedRequest, map[string]any{"host": r.Host})
	case path == "/v2/pet/findByStatus" && r.URL.Query().Get("status") == "available":
		answer(http.StatusOK, []any{pet(1), pet(2)})
	case path == "/v2/pet/1":
		answer(http.StatusOK, pet(1))
	case path == "/v2/pet/2":
		answer(http.StatusOK, pet(2))
	case path == "/v2/swagger.json":
		answer(http.StatusOK, swagger)
	default:
		answer(http.StatusNotFound, map[string]any{"code": 1, "message": "Pet not found"})
	}
}

var swagger = map[string]any{
	"swagger": "2.0", "info": map[string]any{"title": "Pets", "version": "1.0.0"},
	"host": hosts[0], "basePath": "/v2", "schemes": []any{"https", "http"},
	"paths": map[string]any{
		"/pet/findByStatus": map[string]any{"get": map[string]any{
			"operationId": "findPetsByStatus", "produces": []any{"application/json"},
			"parameters": []any{map[string]any{
				"name": "status", "in": "query", "required": true, "type": "array",
				"items": map[string]any{"type": "string"}, "collectionFormat": "multi",
			}},
			"responses": map[string]any{"200": map[string]any{"description": "pets"}},
		}},
		"/pet/{petId}": map[string]any{"get": map[string]any{
			"operationId": "getPetById", "produces": []any{"application/json"},
			"parameters": []any{map[string]any{
				"name": "petId", "in": "path", "required": true, "type": "integer", "format": "int64",
			}},
			"responses": map[string]any{"200": map[string]any{"description": "a pet"}},
		}},
	},
}

// issue makes an authority and a certificate for the hosts.
func issue(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	authorityKey, serverKey := newKey(), newKey()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "conformance authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: hosts[0]}, DNSNames: hosts,
		NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, serverKey.Public(), authorityKey)
	if err != nil {
		t.Fatal(err)
	}
	pair := tls.Certificate{Certificate: [][]byte{leafDER, authorityDER}, PrivateKey: serverKey}
	return pair, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authorityDER})
}
