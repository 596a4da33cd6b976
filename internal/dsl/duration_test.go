package dsl

import (
	"errors"
	"strings"
	"testing"
)

func TestParseDuration(t *testing.T) {
	const second, minute, hour, day = 1000, 60 * 1000, 60 * 60 * 1000, 24 * 60 * 60 * 1000
	for text, want := range map[string]Span{
		"PT0S":                 {},
		"P0D":                  {},
		"PT30S":                {0, 30 * second},
		"PT0.5S":               {0, 500},
		"PT0.0005S":            {0, 1},
		"PT0.0004S":            {0, 0},
		"PT1.123456789999S":    {0, 1123},
		"PT90M":                {0, 90 * minute},
		"PT1H30M":              {0, 90 * minute},
		"PT1.5H":               {0, 90 * minute},
		"P1D":                  {0, day},
		"P2W":                  {0, 14 * day},
		"P0.5W":                {0, 84 * hour},
		"P1W1DT1H1M1S":         {0, 8*day + hour + minute + second},
		"P1M":                  {1, 0},
		"PT1M":                 {0, minute},
		"P1MT1M":               {1, minute},
		"P1Y":                  {12, 0},
		"P1Y2M3DT4H5M6.789S":   {14, 3*day + 4*hour + 5*minute + 6789},
		"P0.5Y":                {6, 0},
		"P1.25Y":               {15, 0},
		"P0.1Y":                {1, 6 * day},
		"P1.5M":                {1, 15 * day},
		"P1000Y":               {12000, 0},
		"P365000D":             {0, 365000 * day},
		"PT00000000000000001S": {0, second},
	} {
		got, err := ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseDurationErrors(t *testing.T) {
	for _, text := range []string{
		"", "P", "PT", "T1S", "1S", "30", "p1d", "P1", "PT1", "P1S", "PT1D", "P1DT", "P1H", "P1D1D", "PT1S1M", "P1D1Y", "PTT1S",
		"P-1D", "-P1D", "P+1D", "P1,5D", "P.5D", "P1.D", "P 1D", " P1D", "P1D ", "P1\u0661D", "P1M1Y", "PT1W", "P1X", "${ . }",
	} {
		span, err := ParseDuration(text)
		if !errors.Is(err, ErrDuration) || span != (Span{}) {
			t.Errorf("%q is %+v, %v, want ErrDuration", text, span, err)
		}
	}
	for _, text := range []string{"P1001Y", "P12001M", "P1000Y1M", "P365001D", "PT31536000001S", "P99999999999999999999D", "P1Y99999999999999999999M",
		"PT9223372036854775807S", "P52143W", "P" + strings.Repeat("9", 10000) + "Y"} {
		if _, err := ParseDuration(text); !errors.Is(err, ErrDuration) || !strings.Contains(err.Error(), "1,000 years") {
			t.Errorf("%.30q: %v, want a limit", text, err)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"PT30S", "P1Y2M3W4DT5H6M7.8S", "P", "PT1.5H", "P0.33Y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		span, err := ParseDuration(text)
		if err != nil {
			if !errors.Is(err, ErrDuration) || span != (Span{}) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if span.Months < 0 || span.Months > maxMonths || span.Milliseconds < 0 || span.Milliseconds > maxMilliseconds {
			t.Fatalf("%q is %+v, beyond the limits", text, span)
		}
	})
}
