package markdown

import (
	"strings"
	"testing"
)

func TestPage(t *testing.T) {
	lead := func(destination string) string {
		if destination == "flow.md" {
			return ""
		}
		return strings.TrimSuffix(destination, ".md")
	}
	for source, want := range map[string]string{
		"# call: `http`\n\n## When it *fails*\n": "<h1 id=\"call-http\">call: <code>http</code></h1>\n<h2 id=\"when-it-fails\">When it <em>fails</em></h2>\n",
		"[a](for.md) [c](flow.md)":               "<p><a href=\"for\">a</a> c</p>\n",
		"[a](https://a.example/)":                "<p><a href=\"https://a.example/\" rel=\"noopener noreferrer\">a</a></p>\n",
		"![a *picture*](b.png)":                  "<p>a <em>picture</em></p>\n",
		"[![a](b.png)](flow.md)":                 "<p>a</p>\n",
		"<!-- a remark -->\n\nText <b>bold</b>":  "<!-- raw HTML omitted -->\n<p>Text <!-- raw HTML omitted -->bold<!-- raw HTML omitted --></p>\n",
		"| a |\n|--:|\n| b |":                    "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n",
		"```yaml workflow\na: 1\n```":            "<pre><code class=\"language-yaml\">a: 1\n</code></pre>\n",
	} {
		title, got := Page([]byte(source), lead)
		if got != want {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
		if wantTitle := map[bool]string{true: "call: http"}[strings.HasPrefix(source, "#")]; title != wantTitle {
			t.Errorf("%q has the title %q", source, title)
		}
	}
}
