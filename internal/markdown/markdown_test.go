package markdown

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestHTML(t *testing.T) {
	for source, want := range map[string]string{
		"":                                    "",
		"plain & simple":                      "<p>plain &amp; simple</p>",
		"**bold** and `code`":                 "<p><strong>bold</strong> and <code>code</code></p>",
		"[a](https://a.example/?b=1&c=2)":     `<p><a href="https://a.example/?b=1&amp;c=2" rel="noopener nofollow">a</a></p>`,
		"https://a.example/x":                 `<p><a href="https://a.example/x" rel="noopener nofollow">https://a.example/x</a></p>`,
		"[a](javascript:alert(1))":            `<p><a href="" rel="noopener nofollow">a</a></p>`,
		"<tel:1>":                             "<p>tel:1</p>",
		"[a](/relative)":                      `<p><a href="" rel="noopener nofollow">a</a></p>`,
		"![a *cat*](https://a.example/c.png)": "<p>a <em>cat</em></p>",
		"a <b onclick='x()'>b</b>":            "<p>a &lt;b onclick=&#39;x()&#39;&gt;b&lt;/b&gt;</p>",
		"<script>alert(1)</script>":           "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
		"| a |\n|---|\n| b |":                 "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>",
	} {
		if got := HTML(source); got != want {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
	}
}

// allowed is what may be in the HTML: no other element, attribute or address.
var allowed = regexp.MustCompile(`^(</?(p|strong|em|del|code|pre|ul|li|h[1-6]|blockquote|table|thead|tbody|tr)>|` +
	`<(br|hr)( ?/)?>|<ol( start="[0-9]+")?>|</ol>|</?(th|td)( style="text-align:(left|right|center)")?>|` +
	`<code class="language-[^"<>]*">|<a href="((https?:|mailto:)[^"<>]*)?"( title="[^"<>]*")?( rel="noopener nofollow")>|</a>)$`)

// FuzzHTML: whatever is written, only harmless elements come out.
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{
		"# a\n- b\n\n1. c", "[x]: javascript:a\n[x]", "<javascript:a>", "<https://a.example/\"onload=x>", "[a](data:text/html,<script>)",
		"![a](x \"y\")", "```js\"x\n<b>\n```", "<!-- -->", "<a\nhref=x>", "[a](https://x \"\\\"><script>\")", "a\\\nb  \nc", "[a](JaVaScRiPt:x)",
		"| a |\n|:-:|\n| <i> |", "<![CDATA[x]]>", "www.example.com", "a@b.example", "&lt;script&gt;", "[a](https://e/%22%3E)",
	} {
		f.Add(seed)
	}
	tag := regexp.MustCompile(`<[^>]*>?`)
	f.Fuzz(func(t *testing.T, source string) {
		for _, found := range tag.FindAllString(HTML(source), -1) {
			if !allowed.MatchString(found) {
				t.Errorf("%q has %q", source, found)
			}
		}
	})
}

// TestTimeIsBounded: hostile texts of the longest size take little time, and longer ones are not read.
func TestTimeIsBounded(t *testing.T) {
	for _, part := range []string{"[", "![", "*a_", "<", "`", "> ", "- ", "((", "[a](", "|a", "www.", "&#"} {
		began := time.Now()
		HTML(strings.Repeat(part, MaxBytes/len(part)))
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%q repeated takes %v", part, took)
		}
	}
	if got := HTML(strings.Repeat("*a* ", MaxBytes)); !strings.HasPrefix(got, "<pre>*a* ") {
		t.Errorf("a longer text is %.20q", got)
	}
}
