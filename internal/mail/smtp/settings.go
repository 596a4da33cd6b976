package smtp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/person"
)

// Settings name a mail server.
type Settings struct {
	// URL is smtp://[USER@]HOST[:PORT] or smtps://…. The query may have starttls=never or required, and ca=FILE.
	URL string
	// PasswordFile holds the password of the user; empty: it is in the URL, or there is none.
	PasswordFile string
	// From is the address that mails come from, with or without a name.
	From string
	// Time bounds a connection up to its first mail, and one mail; default 30 s.
	Time time.Duration
}

// security says how connections are protected.
type security int

const (
	startTLS security = iota // demanded
	fromStart
	plain
)

// Server is a mail server. It is safe for concurrent use. It formats without the password.
type Server struct {
	host, port     string
	user, password string
	security       security
	tls            *tls.Config
	from           mail.Address
	time           time.Duration
}

// Address is host and port of the server.
func (s *Server) Address() string { return net.JoinHostPort(s.host, s.port) }

func (s *Server) String() string   { return s.Address() }
func (s *Server) GoString() string { return s.Address() }

// maxPasswordFile bounds what is read of Settings.PasswordFile.
const maxPasswordFile = 4096

// Open reads settings. It connects to nothing. Its errors begin with the setting that is wrong, and never hold a
// password.
func Open(c Settings) (*Server, error) {
	u, err := url.Parse(c.URL)
	if err != nil {
		// Without the URL, which may hold a password.
		return nil, errors.New("--smtp-url is no address such as smtps://user@mail.example.org")
	}
	s := &Server{host: u.Hostname(), port: u.Port(), user: u.User.Username(), time: c.Time}
	if s.time == 0 {
		s.time = 30 * time.Second
	}
	s.password, _ = u.User.Password()
	switch {
	case u.Scheme != "smtp" && u.Scheme != "smtps":
		return nil, fmt.Errorf("--smtp-url begins with %.20q, and must begin with smtp:// or smtps://", u.Scheme+":")
	case s.host == "":
		return nil, errors.New("--smtp-url names no mail server: it is an address such as smtps://user@mail.example.org")
	case strings.Trim(u.Path, "/") != "" || u.Fragment != "":
		return nil, errors.New("--smtp-url has something behind host and port")
	}
	if s.port == "" {
		s.port = map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]
	}
	if n, err := strconv.Atoi(s.port); err != nil || n < 1 || n > 65535 {
		return nil, fmt.Errorf("--smtp-url has the port %.20q, which is none", s.port)
	}
	s.tls = &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12}
	if err := s.readQuery(u); err != nil {
		return nil, err
	}
	if err := s.readPassword(c.PasswordFile); err != nil {
		return nil, err
	}
	return s, s.readFrom(c.From)
}

// readQuery reads how connections are protected.
func (s *Server) readQuery(u *url.URL) error {
	switch {
	case u.Scheme == "smtps":
		s.security = fromStart
	case isLoopback(s.host):
		s.security = plain
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("--smtp-url has a query that cannot be read")
	}
	for name, values := range query {
		switch value := values[len(values)-1]; {
		case name == "starttls" && u.Scheme == "smtp" && value == "required":
			s.security = startTLS
		case name == "starttls" && u.Scheme == "smtp" && value == "never":
			s.security = plain
		case name == "starttls":
			return fmt.Errorf("--smtp-url has starttls=%.20s: with smtp:// it is required or never, and smtps:// has none", value)
		case name == "ca":
			pem, err := os.ReadFile(value)
			if err != nil {
				return fmt.Errorf("--smtp-url: ca: %w", err)
			}
			s.tls.RootCAs = x509.NewCertPool()
			if !s.tls.RootCAs.AppendCertsFromPEM(pem) {
				return fmt.Errorf("--smtp-url: ca: %s holds no certificate in PEM", value)
			}
		default:
			return fmt.Errorf("--smtp-url has %.40q in its query: only starttls and ca are known", name)
		}
	}
	return nil
}

func (s *Server) readPassword(file string) error {
	if file != "" {
		if s.password != "" {
			return errors.New("--smtp-password-file: --smtp-url has a password already")
		}
		data, err := os.ReadFile(file)
		switch {
		case err != nil:
			return fmt.Errorf("--smtp-password-file: %w", err)
		case len(data) > maxPasswordFile:
			return fmt.Errorf("--smtp-password-file: %s is longer than %d bytes", file, maxPasswordFile)
		}
		s.password = strings.TrimRight(string(data), "\r\n")
		if s.password == "" {
			return fmt.Errorf("--smtp-password-file: %s is empty", file)
		}
	}
	switch {
	case strings.ContainsAny(s.user+s.password, "\x00\r\n"):
		return errors.New("--smtp-url: user and password must be one line")
	case (s.user == "") != (s.password == ""):
		return errors.New("--smtp-url: a user needs a password, and a password a user: smtps://USER@HOST and --smtp-password-file")
	}
	return nil
}

func (s *Server) readFrom(text string) error {
	if text == "" {
		return errors.New("--smtp-url needs --mail-from, the address that mails come from")
	}
	parsed, err := mail.ParseAddress(text)
	if err != nil {
		return fmt.Errorf("--mail-from: %.80q is no address such as chargehand@example.org or \"Chargehand <chargehand@example.org>\"", text)
	}
	if s.from.Address, err = address(parsed.Address); err != nil {
		return fmt.Errorf("--mail-from: %.80q %w", text, err)
	}
	if !ascii(s.from.Address) {
		return fmt.Errorf("--mail-from: %.80q has a character before the @ that not every mail server takes", text)
	}
	s.from.Name = "Chargehand"
	if parsed.Name != "" {
		name, complaint := person.Name(parsed.Name)
		if complaint != "" {
			return fmt.Errorf("--mail-from: the name %s", complaint)
		}
		s.from.Name = name
	}
	return nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}
