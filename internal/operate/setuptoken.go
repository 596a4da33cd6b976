package operate

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/signin"
)

// SetupToken makes a token for the first admin, beside a running server or without one; those before count no more. It
// returns the address to open where the address of the server is given, and the token alone otherwise. Errors: a
// SettingError where there is no installation, or one that is set up.
func SetupToken(ctx context.Context, cfg installation.Settings, publicURL string) (string, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return "", err
	}
	if err := cfg.CheckInstalled(); err != nil {
		return "", err
	}
	rows, err := cfg.OpenInstalled(ctx)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	token, err := signin.NewSetupToken(ctx, rows, time.Now())
	if errors.Is(err, signin.ErrSetupDone) {
		return "", installation.BadSetting("%w: its admins invite others", err)
	}
	if err != nil || publicURL == "" {
		return token, err
	}
	return strings.TrimRight(publicURL, "/") + "/setup#token=" + token, nil
}
