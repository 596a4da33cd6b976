package api

import (
	"net/http"
	"strings"

	"github.com/chargehand/chargehand"
)

// credential reads the API key of a request. Both headers work everywhere; both may have the
// same key. A key in the query string is never read.
func credential(h http.Header) (string, error) {
	var key string
	foreign := false // an Authorization header of another scheme
	for _, value := range h["X-Api-Key"] {
		if err := addKey(&key, strings.TrimSpace(value)); err != nil {
			return "", err
		}
	}
	for _, value := range h["Authorization"] {
		token, ok := bearer(value)
		foreign = foreign || !ok
		if err := addKey(&key, token); err != nil {
			return "", err
		}
	}
	switch {
	case key != "":
		return key, nil
	case foreign:
		return "", chargehand.NewError(chargehand.CodeMissingAPIKey,
			"The header Authorization holds no API key. Send Authorization: Bearer KEY, or x-api-key: KEY.")
	}
	return "", chargehand.NewError(chargehand.CodeMissingAPIKey,
		"Send an API key in the header x-api-key, or as Authorization: Bearer KEY.")
}

// hasCredential reports whether a request carries something that is meant as a key.
func hasCredential(h http.Header) bool {
	return len(h["X-Api-Key"]) > 0 || len(h["Authorization"]) > 0
}

func addKey(key *string, another string) error {
	if another == "" {
		return nil
	}
	if *key != "" && *key != another {
		return chargehand.NewError(chargehand.CodeAmbiguousCredentials,
			"The headers x-api-key and Authorization hold two different API keys. Send one.")
	}
	*key = another
	return nil
}

// bearer returns the token of an Authorization header; ok is false for another scheme.
func bearer(value string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
	if scheme != "" && !strings.EqualFold(scheme, "bearer") {
		return "", false
	}
	return strings.TrimSpace(token), true
}
