package human

import "testing"

// A file is accepted by the ending of its name or by its media type, in whatever case.
func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		accept      []string
		name, media string
		want        bool
	}{
		{nil, "a.exe", "", true},
		{[]string{".pdf"}, "a.PDF", "text/plain", true},
		{[]string{" .PDF "}, "a.pdf", "", true},
		{[]string{".pdf"}, "pdf", "application/pdf", false},
		{[]string{".gz"}, "a.tar.gz", "", true},
		{[]string{"image/*"}, "a", "Image/PNG; q=1", true},
		{[]string{"image/*"}, "a.png", "application/png", false},
		{[]string{"image/*"}, "a", "image", false},
		{[]string{"text/plain"}, "a", "text/plain;charset=utf-8", true},
		{[]string{"application/pdf", ".txt"}, "a.txt", "text/plain", true},
		{[]string{"[", ".pdf"}, "a.txt", "[", false},
	} {
		if got := (&Upload{Accept: c.accept}).Accepts(c.name, c.media); got != c.want {
			t.Errorf("%q accepts %q of %q: %t", c.accept, c.name, c.media, got)
		}
	}
}
