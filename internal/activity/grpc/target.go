package grpc

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// target is where a call connects to.
type target struct {
	host string // a name or an address, without brackets
	port int
	tls  bool
}

func (t target) address() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

const (
	portTLS       = 443
	portPlaintext = 80
	maxPort       = 65535
)

// schemes tells which mean TLS.
var schemes = map[string]bool{"https": true, "grpcs": true, "http": false, "grpc": false}

// targetOf reads host, port and metadata.grpc.tls by the rules of the package.
func targetOf(args, metadata map[string]any) (target, *machine.Fault) {
	text, _ := args["host"].(string)
	rest := strings.TrimSpace(text)
	secure, hasScheme := false, false
	if scheme, after, found := strings.Cut(rest, "://"); found {
		if secure, hasScheme = schemes[strings.ToLower(scheme)]; !hasScheme {
			return target{}, configuration(fmt.Sprintf("host %q: the scheme must be https or grpcs for TLS, http or grpc for plaintext", excerpt.Clip(text, clipBytes)))
		}
		rest = strings.TrimSuffix(after, "/")
	}
	host, own, fault := splitHost(rest)
	if fault != nil {
		return target{}, fault
	}
	port, fault := portOf(args["port"])
	switch {
	case fault != nil:
		return target{}, fault
	case port != 0 && own != 0 && port != own:
		return target{}, configuration(fmt.Sprintf("host %q and port %d name different ports", excerpt.Clip(text, clipBytes), port))
	case port == 0:
		port = own
	}
	wanted, given, fault := wantsTLS(metadata)
	if fault != nil {
		return target{}, fault
	}
	if port == 0 {
		port = portTLS
		if hasScheme && !secure || !hasScheme && given && !wanted {
			port = portPlaintext
		}
	}
	if !hasScheme {
		secure = port == portTLS
	}
	if given {
		secure = wanted
	}
	return target{host: host, port: port, tls: secure}, nil
}

// splitHost reads name, name:port, address, [address] and [address]:port. Port 0: none.
func splitHost(text string) (host string, port int, fault *machine.Fault) {
	host = text
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return addr.String(), 0, nil
	}
	if name, digits, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > maxPort {
			return "", 0, configuration(fmt.Sprintf("host %q: the port must be a number from 1 to %d", excerpt.Clip(text, clipBytes), maxPort))
		}
		host, port = name, n
	}
	if host == "" || strings.ContainsAny(host, "/?#@ \t\r\n%\\") || strings.Contains(host, ":") && !isAddress(host) {
		return "", 0, configuration(fmt.Sprintf("host %q is no name or address of a server", excerpt.Clip(text, clipBytes)))
	}
	return host, port, nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func portOf(v value.Value) (int, *machine.Fault) {
	if v == nil {
		return 0, nil
	}
	port, ok := v.(int)
	if !ok || port < 1 || port > maxPort {
		return 0, configuration(fmt.Sprintf("port must be a number from 1 to %d", maxPort))
	}
	return port, nil
}

// wantsTLS reads metadata.grpc.tls.
func wantsTLS(metadata map[string]any) (wanted, given bool, fault *machine.Fault) {
	settings, _ := metadata["grpc"].(map[string]any)
	value, given := settings["tls"]
	if !given {
		return false, false, nil
	}
	wanted, ok := value.(bool)
	if !ok {
		return false, false, configuration("metadata.grpc.tls must be true or false")
	}
	return wanted, true, nil
}
