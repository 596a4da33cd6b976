package mailserver

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Options say what kind of server it is.
type Options struct {
	TLS      bool   // from the start of a connection
	STARTTLS bool   // offered
	Name     string // in the certificate; default: 127.0.0.1
	// User and Password are demanded if they are set.
	User, Password string
	UTF8           bool // it takes addresses outside of ASCII
}

// Mail is one that the server has taken.
type Mail struct {
	From, To string
	Secure   bool // it came over TLS
	Raw      string
	Header   mail.Header
	Text     string
	HTML     string
}

// Server is a mail server.
type Server struct {
	Address string // host and port
	CA      string // file with the certificate
	options Options
	smtp    *smtp.Server
	listen  net.Listener

	mu     sync.Mutex
	mails  []Mail
	refuse func(stage, address string) error
	came   chan struct{} // closed with the next mail
}

// Start starts a server, which ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{options: o, came: make(chan struct{})}
	if o.Name == "" {
		o.Name = "127.0.0.1"
	}
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{server: s, conn: c}, s.refused("connect", "")
	}))
	s.smtp.Domain, s.smtp.AllowInsecureAuth, s.smtp.EnableSMTPUTF8 = o.Name, true, o.UTF8
	s.smtp.MaxMessageBytes, s.smtp.ErrorLog = 1<<20, log.New(io.Discard, "", 0)
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Address, s.listen = listen.Addr().String(), listen
	if o.TLS || o.STARTTLS {
		certificate := s.certificate(t, o.Name)
		config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
		if s.smtp.TLSConfig = config; o.TLS {
			listen = tls.NewListener(listen, config)
		}
	}
	go func() { _ = s.smtp.Serve(listen) }()
	t.Cleanup(s.Stop)
	return s
}

// Stop ends the server and all connections.
func (s *Server) Stop() {
	s.listen.Close() // which the other does not know if it has not begun to serve
	s.smtp.Close()
}

// certificate makes one that vouches for itself, and writes it to a file.
func (s *Server) certificate(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	s.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(s.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Refuse has f asked at each stage (connect, from, to, data, taken) whether to continue; nil: at none. At taken, the
// server has kept the mail and only its answer is missing. f may block. Errors of Code are the answer to the client.
func (s *Server) Refuse(f func(stage, address string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// Code is an answer that refuses.
func Code(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: text}
}

func (s *Server) refused(stage, address string) error {
	s.mu.Lock()
	f := s.refuse
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(stage, address)
}

// Mails are those that the server has taken.
func (s *Server) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// Wait waits until the server has taken so many mails, and returns them.
func (s *Server) Wait(t testing.TB, n int) []Mail {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		s.mu.Lock()
		mails, came := append([]Mail(nil), s.mails...), s.came
		s.mu.Unlock()
		if len(mails) >= n {
			return mails
		}
		select {
		case <-came:
		case <-ctx.Done():
			t.Fatalf("%d mails came, want %d", len(mails), n)
		}
	}
}

func (s *Server) keep(m Mail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	close(s.came)
	s.came = make(chan struct{})
}

type session struct {
	server   *Server
	conn     *smtp.Conn
	signedIn bool
	from, to string
}

func (s *session) AuthMechanisms() []string {
	if s.server.options.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.signedIn = user == s.server.options.User && password == s.server.options.Password; !s.signedIn {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (s *session) Reset()        { s.from, s.to = "", "" }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.options.User != "" && !s.signedIn {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return s.server.refused("from", from)
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.to != "" {
		return errors.New("a mail is for one person")
	}
	s.to = to
	return s.server.refused("to", to)
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.server.refused("data", s.to); err != nil {
		return err
	}
	_, secure := s.conn.TLSConnectionState()
	m := Mail{From: s.from, To: s.to, Secure: secure, Raw: string(raw)}
	if err := m.read(raw); err != nil {
		return err
	}
	s.server.keep(m)
	return s.server.refused("taken", s.to)
}

// read takes a mail with a text and the same in HTML apart.
func (m *Mail) read(raw []byte) error {
	whole, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	m.Header = whole.Header
	media, parameters, err := mime.ParseMediaType(whole.Header.Get("Content-Type"))
	if err != nil || media != "multipart/alternative" {
		return fmt.Errorf("a mail of type %q: %w", media, err)
	}
	parts := multipart.NewReader(whole.Body, parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return err
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			m.HTML = string(body)
		} else {
			m.Text = strings.ReplaceAll(string(body), "\r\n", "\n")
		}
	}
}
