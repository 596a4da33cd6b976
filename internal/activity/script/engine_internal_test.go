package script

import "testing"

func BenchmarkEngine(b *testing.B) {
	bytecode, err := compilePrelude()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e, err := newEngine(bytecode)
		if err != nil {
			b.Fatal(err)
		}
		e.close()
	}
}

func BenchmarkEngineRun(b *testing.B) {
	bytecode, err := compilePrelude()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e, err := newEngine(bytecode)
		if err != nil {
			b.Fatal(err)
		}
		answer := e.run(runRequest{Code: `return 1`, Options: []byte(`{"argv":[],"env":{},"input":""}`), TimeMs: 1000, MemoryBytes: 64 << 20, OutputBytes: 1 << 20})
		if answer.Value != "1" {
			b.Fatal(answer)
		}
		e.close()
	}
}
