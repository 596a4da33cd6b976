package postgres

import "testing"

func TestRewrite(t *testing.T) {
	for query, want := range map[string]rewritten{
		`SELECT ?1, ?12 + ?2`:            {`SELECT $1, $12 + $2`, 12},
		`SELECT '?1', "?2", ?1 -- it''s`: {`SELECT '?1', "?2", $1 -- it''s`, 1},
		`SELECT 1`:                       {`SELECT 1`, 0},
		`SELECT a ? b`:                   {`SELECT a ? b`, 0},
	} {
		if got := rewrite(query); got != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\x00b", "\x01", "\x0101", "\xff\xfe", "é😀", "\x01zz", "a\x01"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := unescape(escape(s)); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	})
}
