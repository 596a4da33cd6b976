package protofile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/chargehand/chargehand/internal/excerpt"
)

// The bounds of a source.
const (
	MaxBytes      = 1 << 20
	MaxDepth      = 32     // of nested braces, brackets and parentheses
	MaxStatements = 20_000 // semicolons and opening braces
	MaxWordBytes  = 256    // of a name with its dots
)

// Error tells what is wrong with a source. Line and Column count from 1; both are 0 where
// there is no place.
type Error struct {
	Line, Column int
	Detail       string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Detail
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Detail)
}

// File is a compiled source. It is immutable and safe for concurrent use.
type File struct {
	file  protoreflect.FileDescriptor
	types *dynamicpb.Types
}

// sourceName is what the file is called inside a compilation. It is no name that an import
// statement is likely to have, so that a file does not import itself by accident.
const sourceName = "<source>"

// Compile compiles one source. The error is an *Error, or that of ctx.
func Compile(ctx context.Context, source []byte) (*File, error) {
	if err := check(source); err != nil {
		return nil, err
	}
	var first reporter.ErrorWithPos
	compiler := protocompile.Compiler{
		MaxParallelism: 1,
		Resolver: protocompile.WithStandardImports(protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			if path != sourceName {
				return protocompile.SearchResult{}, errNotBuiltIn
			}
			return protocompile.SearchResult{Source: bytes.NewReader(source)}, nil
		})),
		Reporter: reporter.NewReporter(func(err reporter.ErrorWithPos) error {
			first = err
			return err
		}, nil),
	}
	files, err := compiler.Compile(ctx, sourceName)
	if err != nil {
		return nil, compileError(ctx, first, err)
	}
	return newFile(files[0])
}

var errNotBuiltIn = errors.New("only google/protobuf/*.proto can be imported: put the messages and services into one file")

func compileError(ctx context.Context, first reporter.ErrorWithPos, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var positioned reporter.ErrorWithPos
	if errors.As(err, &positioned) {
		first = positioned
	}
	if first == nil {
		return &Error{Detail: cleaned(err)}
	}
	at := first.GetPosition()
	return &Error{Line: at.Line, Column: at.Col, Detail: cleaned(first.Unwrap())}
}

// cleaned is the text of an error of the compiler without its inner name of the file.
func cleaned(err error) string {
	var broken protocompile.PanicError
	if errors.As(err, &broken) {
		return "the compiler cannot read this source"
	}
	return strings.ToValidUTF8(strings.ReplaceAll(err.Error(), sourceName, "this file"), "\uFFFD")
}

func newFile(compiled protoreflect.FileDescriptor) (*File, error) {
	// The compiler's own descriptors carry its syntax trees; a plain copy does not.
	registry := &protoregistry.Files{}
	for i := range compiled.Imports().Len() {
		if err := register(registry, compiled.Imports().Get(i).FileDescriptor); err != nil {
			return nil, &Error{Detail: cleaned(err)}
		}
	}
	file, err := protodesc.NewFile(protodesc.ToFileDescriptorProto(compiled), registry)
	if err != nil {
		return nil, &Error{Detail: cleaned(err)}
	}
	if err := registry.RegisterFile(file); err != nil {
		return nil, &Error{Detail: cleaned(err)}
	}
	return &File{file: file, types: dynamicpb.NewTypes(registry)}, nil
}

// register puts a file and what it imports into the registry.
func register(registry *protoregistry.Files, file protoreflect.FileDescriptor) error {
	if _, err := registry.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	for i := range file.Imports().Len() {
		if err := register(registry, file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return registry.RegisterFile(file)
}

// Types finds the messages, enumerations and extensions of the file and of its imports.
func (f *File) Types() *dynamicpb.Types { return f.types }

// Services are the full names of the services, in the order of the file.
func (f *File) Services() []string {
	services := f.file.Services()
	names := make([]string, services.Len())
	for i := range names {
		names[i] = string(services.Get(i).FullName())
	}
	return names
}

// Method finds a method. The service is named in full (greet.v1.Greeter), or by its last
// parts where that is clear (Greeter). The error says what there is.
func (f *File) Method(service, method string) (protoreflect.MethodDescriptor, error) {
	found, err := f.service(strings.TrimPrefix(service, "."))
	if err != nil {
		return nil, err
	}
	if m := found.Methods().ByName(protoreflect.Name(method)); m != nil {
		return m, nil
	}
	names := make([]string, found.Methods().Len())
	for i := range names {
		names[i] = string(found.Methods().Get(i).Name())
	}
	return nil, &Error{Detail: fmt.Sprintf("the service %s has no method %q; it has %s", found.FullName(), excerpt.Clip(method, MaxWordBytes), listed(names))}
}

func (f *File) service(name string) (protoreflect.ServiceDescriptor, error) {
	services := f.file.Services()
	var found []protoreflect.ServiceDescriptor
	for i := range services.Len() {
		s := services.Get(i)
		if string(s.FullName()) == name {
			return s, nil
		}
		if name != "" && strings.HasSuffix("."+string(s.FullName()), "."+name) {
			found = append(found, s)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return nil, &Error{Detail: fmt.Sprintf("the proto file has no service %q; it has %s", excerpt.Clip(name, MaxWordBytes), listed(f.Services()))}
}

const shownNames = 20

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	names = slices.Sorted(slices.Values(names))
	if len(names) > shownNames {
		return strings.Join(names[:shownNames], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
