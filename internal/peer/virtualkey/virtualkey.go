package virtualkey

import "github.com/descope/virtualwebauthn"

// publicKeyBytes is the length of a public key (COSE, P-256) whose coordinates have 32 bytes each.
const publicKeyBytes = 77

// New is a new credential. The library leaves out the zeros at the beginning of a coordinate, which no real
// authenticator does and servers refuse: such a key is thrown away.
func New() virtualwebauthn.Credential {
	for {
		c := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		if len(c.Key.AttestationData()) == publicKeyBytes {
			return c
		}
	}
}
