package temporal

import "testing"

// TestDialEncrypts: whoever says anything about TLS gets it, and never sends in clear text.
func TestDialEncrypts(t *testing.T) {
	for name, d := range map[string]Dial{
		"tls": {TLS: true}, "key": {APIKey: "k"}, "server name": {TLSServerName: "h"}, "no verification": {TLSDisableHostVerification: true},
	} {
		if c, err := d.tls(); err != nil || c == nil {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if c, err := (Dial{}).tls(); err != nil || c != nil {
		t.Errorf("nothing said: %v, %v", c, err)
	}
}
