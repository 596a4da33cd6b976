package grpc

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/protofile"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/value"
)

// maxProtos bounds the compiled files that are kept: a file of the largest size takes some
// ten megabytes, a usual one some ten kilobytes.
const maxProtos = 64

// protos compiles proto files and keeps what it compiled, by their content.
type protos struct {
	resources *resource.Cache

	mu    sync.Mutex
	known map[[sha256.Size]byte]*protofile.File
}

func newProtos(resources *resource.Cache) *protos {
	return &protos{resources: resources, known: map[[sha256.Size]byte]*protofile.File{}}
}

// get compiles the `proto` of a call. The key is the content's own hash, not the digest that
// came with it: a wrong digest cannot make one definition use the file of another.
func (p *protos) get(ctx context.Context, call activity.Call, v value.Value) (*protofile.File, *machine.Fault) {
	source, fault := p.source(ctx, call, v)
	if fault != nil {
		return nil, fault
	}
	key := sha256.Sum256(source)
	p.mu.Lock()
	file, found := p.known[key]
	p.mu.Unlock()
	if found {
		return file, nil
	}
	file, err := protofile.Compile(ctx, source)
	if err != nil {
		if ctx.Err() != nil {
			return nil, communication(504, "the proto file could not be compiled in time")
		}
		return nil, configuration("the proto file cannot be compiled: " + err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxProtos {
		clear(p.known) // rare, and a file is soon compiled again
	}
	p.known[key] = file
	return file, nil
}

func (p *protos) source(ctx context.Context, call activity.Call, v value.Value) ([]byte, *machine.Fault) {
	proto, _ := v.(map[string]any)
	if content, pinned := proto["content"].(string); pinned {
		return []byte(content), nil
	}
	endpoint, _ := proto["endpoint"].(string)
	if endpoint == "" {
		return nil, configuration("proto has no endpoint")
	}
	scope := call.Account.String() + " " + call.Environment.String()
	content, err := p.resources.Fetch(ctx, scope, resource.Request{URI: endpoint, Authentication: proto["authentication"]})
	if err != nil {
		var known *resource.Error
		if errors.As(err, &known) {
			return nil, known.Fault()
		}
		return nil, communication(500, "the proto file cannot be read: "+err.Error())
	}
	return content.Data, nil
}
