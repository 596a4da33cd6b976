package dsl

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func benchmark(b *testing.B, data []byte) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Parse(data); problems.HasErrors() {
			b.Fatal(problems)
		}
	}
}

func toJSON(b *testing.B, data []byte) []byte {
	document, _ := Parse(data)
	text, err := json.Marshal(document.Value())
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// A definition of 10,000 tasks, 650 KB.
func BenchmarkTenThousandTasks(b *testing.B) {
	data := []byte(manyTasks(MaxTasks))
	b.Run("yaml", func(b *testing.B) { benchmark(b, data) })
	b.Run("json", func(b *testing.B) { benchmark(b, toJSON(b, data)) })
}

// A definition of nearly 1 MiB whose tasks are larger.
func BenchmarkMebibyte(b *testing.B) {
	var text strings.Builder
	text.WriteString(header + "do:\n")
	for i := 0; text.Len() < MaxBytes-1000; i++ {
		fmt.Fprintf(&text, `- call%d:
    if: .status == "open"
    call: http
    with:
      method: post
      endpoint: {uri: 'https://example.com/orders/{id}', authentication: {basic: {username: ada, password: '${ $secrets.p }'}}}
      headers: {accept: application/json}
      body:
        lines: '${ .lines | map({id, quantity}) }'
        note: a longer text that only stands here, so that it takes some room
    output: {as: .content}
    timeout: {after: {seconds: 30}}
`, i)
	}
	data := []byte(text.String())
	b.Run("yaml", func(b *testing.B) { benchmark(b, data) })
	b.Run("json", func(b *testing.B) { benchmark(b, toJSON(b, data)) })
}

func BenchmarkTypical(b *testing.B) {
	b.Run("yaml", func(b *testing.B) { benchmark(b, []byte(everything)) })
	b.Run("json", func(b *testing.B) { benchmark(b, toJSON(b, []byte(everything))) })
}

// The most expensive kinds of wrong text.
func BenchmarkHostile(b *testing.B) {
	for name, unit := range map[string]string{"flow": "a: 1, ", "lists": "[],"} {
		data := []byte("{" + strings.Repeat(unit, MaxBytes/len(unit)-2) + "}")
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, problems := Parse(data); !problems.HasErrors() {
					b.Fatal("it was accepted")
				}
			}
		})
	}
}
