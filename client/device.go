package client

import (
	"context"
	"net/http"
	"time"
)

// DeviceRequest asks for personal keys by the device grant (RFC 8628).
type DeviceRequest struct {
	Name         string   `json:"name"`                   // what the program calls itself
	Environments []string `json:"environments,omitempty"` // nil: both
	Admin        bool     `json:"admin,omitempty"`        // with the rights of an admin
}

// DeviceCode is what a program shows, and asks with.
type DeviceCode struct {
	DeviceCode      string `json:"device_code"`
	UserCode        string `json:"user_code"`
	VerificationURI string `json:"verification_uri"`
	ExpiresIn       int    `json:"expires_in"` // seconds
	Interval        int    `json:"interval"`   // seconds
}

// DeviceKeys are the keys that a person has confirmed.
type DeviceKeys struct {
	User struct {
		Email string `json:"email"`
		Name  string `json:"name"`
	} `json:"user"`
	Account struct {
		Name string `json:"name"`
	} `json:"account"`
	Keys []DeviceKey `json:"keys"`
}

// DeviceKey is a personal key of an environment.
type DeviceKey struct {
	ID          string     `json:"id"`
	Environment string     `json:"environment"`
	Key         string     `json:"key"`
	Scopes      []string   `json:"scopes"` // what it may do at most
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
}

// StartDevice asks for the codes of a device grant. It needs no key.
func (c *Client) StartDevice(ctx context.Context, r DeviceRequest) (*DeviceCode, error) {
	var d DeviceCode
	return &d, c.do(ctx, call{method: http.MethodPost, path: "/device", body: r, into: &d})
}

// RedeemDevice asks for the keys of a device grant, once: the code of the error is authorization_pending or slow_down
// while no person has confirmed it.
func (c *Client) RedeemDevice(ctx context.Context, deviceCode string) (*DeviceKeys, error) {
	var k DeviceKeys
	body := struct {
		DeviceCode string `json:"device_code"`
	}{deviceCode}
	return &k, c.do(ctx, call{method: http.MethodPost, path: "/device/token", body: body, into: &k})
}

// RevokePersonalKey revokes the client's own key, or another one of its person, permanently.
func (c *Client) RevokePersonalKey(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: "/me/api-keys/" + id})
}
