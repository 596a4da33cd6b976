package app

import (
	"errors"
	"testing"

	"github.com/chargehand/chargehand/internal/installation"
)

func TestScheduleSettings(t *testing.T) {
	for _, bad := range []Config{{TimeZone: "Europe/Nowhere"}, {TimeZone: "Local"}, {ScheduleOnDefault: "raw"}} {
		var wrong *installation.SettingError
		if _, err := bad.withDefaults(); !errors.As(err, &wrong) {
			t.Errorf("%q, %q: %v", bad.TimeZone, bad.ScheduleOnDefault, err)
		}
	}
	c, err := Config{TimeZone: "Europe/Berlin", ScheduleOnDefault: "envelope"}.withDefaults()
	if err != nil || c.zone.String() != "Europe/Berlin" {
		t.Errorf("the time zone is %v, %v", c.zone, err)
	}
}
