package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	gomail "github.com/wneessen/go-mail"
	gosmtp "github.com/wneessen/go-mail/smtp"
)

// Error says why a mail was not taken.
type Error struct {
	// Refused: the server does not take this mail, and will not later (a code of 500 and above, to the recipient or the
	// content).
	Refused bool
	// Server: the fault is not this mail's. The server cannot be reached, or does not let us in.
	Server bool
	text   string
}

func (e *Error) Error() string { return e.text }

// maxError bounds the text of a server that is kept.
const maxError = 300

func newError(err error, refused, server bool) *Error {
	text, _, _ := strings.Cut(err.Error(), ", affected recipient(s): ")
	text, _, _ = strings.Cut(text, ", affected message ID: ")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > maxError {
		text = string(runes[:maxError]) + "…"
	}
	return &Error{Refused: refused, Server: server, text: text}
}

// connection is one to a mail server that has let us in.
type connection struct {
	client  *gomail.Client
	session *gosmtp.Client
	close   func()
	cut     func() // without a word: the server takes nothing that has not come as a whole
}

// connect connects and signs in. The connection ends with the context.
func (s *Server) connect(ctx context.Context) (*connection, error) {
	var (
		mu  sync.Mutex
		raw net.Conn
	)
	// The library leaves a connection open whose server does not greet it well, and looks at no context afterwards.
	cut := func() {
		mu.Lock()
		defer mu.Unlock()
		if raw != nil {
			raw.Close()
		}
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		raw = conn
		mu.Unlock()
		if s.security != fromStart {
			return conn, nil
		}
		secure := tls.Client(conn, s.tls.Clone())
		return secure, secure.HandshakeContext(ctx)
	}
	client, err := gomail.NewClient(s.host, s.options(dial)...)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, cut)
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		stop()
		cut()
		if ctx.Err() != nil {
			err = fmt.Errorf("%w before the server has answered", context.Cause(ctx))
		}
		return nil, err
	}
	return &connection{client, session, func() {
		_ = client.CloseWithSMTPClient(session) // what it was for is known before
		stop()
		cut()
	}, cut}, nil
}

func (s *Server) options(dial gomail.DialContextFunc) []gomail.Option {
	at := strings.LastIndexByte(s.from.Address, '@')
	policy := gomail.NoTLS // also where TLS came with the connection
	if s.security == startTLS {
		policy = gomail.TLSMandatory
	}
	options := []gomail.Option{
		gomail.WithTimeout(s.time), gomail.WithHELO(s.from.Address[at+1:]), gomail.WithDialContextFunc(dial),
		gomail.WithTLSConfig(s.tls.Clone()), gomail.WithTLSPolicy(policy), gomail.WithoutRset(),
	}
	options = append(options, withPort(s.port))
	if s.user == "" {
		return options
	}
	ways := []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin}
	if s.security == plain {
		ways = []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc}
	}
	return append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password), gomail.WithOpportunisticSMTPAuth(ways...))
}

// Check connects, signs in and leaves. The error is an *Error.
func (s *Server) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.time)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return newError(err, false, true)
	}
	c.close()
	return nil
}

// Send hands a mail to the server. It has been taken if there is no error; with an error it may have been taken, if the
// connection broke at the end. The error is an *Error.
func (s *Server) Send(ctx context.Context, m *Message) error {
	to, err := address(m.To)
	if err != nil {
		return newError(fmt.Errorf("the address of the recipient %w", err), true, false)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*s.time)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return newError(err, false, true)
	}
	defer c.close()
	if ok, _ := c.session.Extension("SMTPUTF8"); !ok && !ascii(to) {
		return newError(errors.New("the mail server takes no addresses with characters outside of ASCII"), true, false)
	}
	c.session.SkipSMTPUTF8(ascii(to)) // else the server behind it may not take the mail
	out := m.write(s.from, to, func() error {
		if m.Ready == nil {
			return nil
		}
		err := m.Ready(ctx)
		if err != nil {
			c.cut() // to say anything more would end the content, and the server would take what it has
		}
		return err
	})
	err = c.client.SendWithSMTPClient(c.session, out)
	if err == nil || out.IsDelivered() { // what failed then came after it
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w before the server has taken the mail", context.Cause(ctx))
	}
	var failed *gomail.SendError
	if !errors.As(err, &failed) {
		return newError(err, false, true)
	}
	switch failed.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose, gomail.ErrWriteContent:
		return newError(err, failed.ErrorCode() >= 500, failed.ErrorCode() == 0)
	}
	return newError(err, false, true)
}

func withPort(text string) gomail.Option {
	port, _ := strconv.Atoi(text) // Open has checked it
	return gomail.WithPort(port)
}
