package protofile

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const greeter = `syntax = "proto3";
package greet.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/any.proto";

// A comment with { and [.
message Hello { string name = 1; google.protobuf.Timestamp at = 2; google.protobuf.Any more = 3; }
service Greeter {
  rpc Greet(Hello) returns (Hello);
  rpc Watch(Hello) returns (stream Hello);
}
service Admin { rpc Stop(Hello) returns (Hello); }
`

func TestMethodsAreFoundByFullAndByShortName(t *testing.T) {
	file, err := Compile(t.Context(), []byte(greeter))
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range []string{"greet.v1.Greeter", ".greet.v1.Greeter", "v1.Greeter", "Greeter"} {
		m, err := file.Method(service, "Watch")
		if err != nil || m.FullName() != "greet.v1.Greeter.Watch" || !m.IsStreamingServer() {
			t.Errorf("%s: %v, %v", service, m, err)
		}
	}
	for _, wrong := range [][2]string{{"reeter", "Watch"}, {"", "Watch"}, {"other.Greeter", "Watch"}} {
		if _, err := file.Method(wrong[0], wrong[1]); err == nil || !strings.Contains(err.Error(), "greet.v1.Admin, greet.v1.Greeter") {
			t.Errorf("%v: error %v does not list the services", wrong, err)
		}
	}
	if _, err := file.Method("Greeter", "greet"); err == nil || !strings.Contains(err.Error(), "it has Greet, Watch") {
		t.Errorf("error %v does not list the methods", err)
	}
	if _, err := file.Types().FindMessageByName("google.protobuf.Timestamp"); err != nil {
		t.Errorf("imported types: %v", err)
	}
}

func TestErrorsHaveTheirPosition(t *testing.T) {
	for _, c := range []struct {
		name, source string
		line, column int
		word         string
	}{
		{"syntax", "syntax = \"proto3\";\nmessage A {\n  string = 1;\n}", 3, 10, "syntax error"},
		{"unknown type", "syntax = \"proto3\";\nmessage A {\n  Missing m = 1;\n}", 3, 3, "Missing"},
		{"import", "syntax = \"proto3\";\nimport \"other/file.proto\";", 2, 8, "only google/protobuf/*.proto can be imported"},
		{"absent well-known", "syntax = \"proto3\";\nimport \"google/protobuf/none.proto\";", 2, 8, "only google/protobuf"},
		{"itself", "syntax = \"proto3\";\nimport \"<source>\";", 2, 8, "this file"},
		{"twice", "syntax = \"proto3\";\nmessage A {}\nmessage A {}", 3, 9, "already defined"},
		{"not text", "\xff\xfe", 0, 0, "UTF-8"},
		{"large", strings.Repeat(" ", MaxBytes+1), 0, 0, "bytes"},
		{"deep", "syntax = \"proto3\";\n" + strings.Repeat("message A{", MaxDepth+1), 2, 10*MaxDepth + 10, "nested deeper than 32"},
		{"many", strings.Repeat(";", MaxStatements+1), 1, MaxStatements + 1, "more than 20000 declarations"},
		{"long name", "package " + strings.Repeat("a.", MaxWordBytes) + "b;", 1, 9, "more than 256 bytes"},
	} {
		_, err := Compile(t.Context(), []byte(c.source))
		var got *Error
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.Line != c.line || got.Column != c.column || !strings.Contains(got.Detail, c.word) {
			t.Errorf("%s: %v, want line %d, column %d, %q", c.name, got, c.line, c.column, c.word)
		}
	}
}

func TestBracketsInTextsAndCommentsAreNoNesting(t *testing.T) {
	source := "syntax = \"proto3\";\n// " + strings.Repeat("{", 99) + "\n/* " + strings.Repeat("[", 99) + "\n*/\n" +
		"option java_package = '" + strings.Repeat("(", 99) + "\\'';\nmessage A {}\n"
	if _, err := Compile(t.Context(), []byte(source)); err != nil {
		t.Error(err)
	}
}

func TestEditionsAndProto2Compile(t *testing.T) {
	for _, syntax := range []string{`syntax = "proto2";`, `edition = "2023";`, ``} {
		label := "optional "
		if strings.HasPrefix(syntax, "edition") {
			label = ""
		}
		source := fmt.Sprintf("%s\nmessage A { %sint32 n = 1 [default = 7]; }", syntax, label)
		if _, err := Compile(t.Context(), []byte(source)); err != nil {
			t.Errorf("%q: %v", syntax, err)
		}
	}
}

func TestTheLargestSourceIsCompiledInBoundedTime(t *testing.T) {
	var b strings.Builder
	b.WriteString("syntax = \"proto3\";\npackage p;\n")
	for i := range MaxStatements/2 - 10 {
		fmt.Fprintf(&b, "message M%d { int64 n = 1; }\n", i)
	}
	file, err := Compile(t.Context(), []byte(b.String()))
	if err != nil || len(file.Services()) != 0 {
		t.Fatal(err)
	}
}

func FuzzCompile(f *testing.F) {
	f.Add([]byte(greeter))
	f.Add([]byte("edition = \"2023\";\nmessage A { int32 n = 1 [default = 7]; reserved 2 to 9; oneof o { string s = 10; } map<string, A> m = 11; }"))
	f.Add([]byte("syntax = \"proto2\"; message A { extensions 4 to max; optional group G = 1 { required bytes b = 2; } } extend A { optional A a = 4; }"))
	f.Add([]byte("import \"google/protobuf/descriptor.proto\"; extend google.protobuf.FileOptions { optional string s = 50000; } option (s) = \"\\x00\\u1234\";"))
	f.Fuzz(func(t *testing.T, source []byte) {
		file, err := Compile(t.Context(), source)
		var problem *Error
		switch {
		case err != nil && !errors.As(err, &problem):
			t.Fatalf("error %v is no *Error", err)
		case err != nil && (problem.Detail == "" || problem.Line < 0 || problem.Column < 0):
			t.Fatalf("error %+v says nothing", problem)
		case err == nil:
			for _, service := range file.Services() {
				if _, err := file.Method(service, "?"); err == nil {
					t.Fatalf("%s has a method that no service can have", service)
				}
			}
		}
	})
}
