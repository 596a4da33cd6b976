package asyncapidoc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/jsonpointer"
)

// Selection is the part of a task that selects channel, operation, server and protocol.
type Selection struct {
	Channel, Operation string // exactly one
	Server             string // name; "" for the first that fits
	Protocol           string // "" for any; ignored with Server
	Variables          map[string]string
	Subscribe          bool
	Payload, Headers   any // of the message to send
}

// Target is where a call goes.
type Target struct {
	Server   string // name in the document
	Protocol string // as the document names it, in lower case
	Family   string
	URL      string // of the server, with scheme, without a slash at the end
	Address  string // of the channel, its parameters filled in (path-escaped for http and ws)
	Messages []Message
	// Bindings of the family.
	ServerBinding, ChannelBinding, OperationBinding map[string]any
}

// Message is a message that the document describes.
type Message struct {
	ContentType string // "" where the document says nothing
	Correlation string // location of the correlation id, "" without
}

// endpoint is a channel with the operation that is wanted of it; operation may be nil.
type endpoint struct {
	name      string
	address   string
	channel   map[string]any
	operation map[string]any
}

// Target finds where a call goes.
func (d *Document) Target(s Selection) (*Target, error) {
	p, err := d.endpoint(s)
	if err != nil {
		return nil, err
	}
	name, server, err := d.server(p, s)
	if err != nil {
		return nil, err
	}
	protocol, _ := server["protocol"].(string)
	t := &Target{Server: name, Protocol: strings.ToLower(protocol), Family: Family(protocol)}
	fill := &filler{document: d, selection: s, used: map[string]bool{}}
	if t.URL, err = fill.serverURL(t, server); err != nil {
		return nil, fmt.Errorf("server %q: %w", excerpt.Clip(name, clipBytes), err)
	}
	if t.Address, err = fill.address(t.Family, p); err != nil {
		return nil, fmt.Errorf("channel %q: %w", excerpt.Clip(p.name, clipBytes), err)
	}
	if err := fill.unused(); err != nil {
		return nil, err
	}
	if t.Messages, err = d.messages(p); err != nil {
		return nil, fmt.Errorf("channel %q: %w", excerpt.Clip(p.name, clipBytes), err)
	}
	for _, binding := range []struct {
		of map[string]any
		to *map[string]any
	}{{server, &t.ServerBinding}, {p.channel, &t.ChannelBinding}, {p.operation, &t.OperationBinding}} {
		all, err := d.object(binding.of, "bindings")
		if err != nil {
			return nil, err
		}
		if *binding.to, err = d.object(all, t.Family); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (d *Document) endpoint(s Selection) (endpoint, error) {
	channels, err := d.object(d.root, "channels")
	if err != nil {
		return endpoint{}, err
	}
	if d.major == 2 {
		return d.place2(channels, s)
	}
	return d.place3(channels, s)
}

func (d *Document) place2(channels map[string]any, s Selection) (endpoint, error) {
	wanted := "publish"
	if s.Subscribe {
		wanted = "subscribe"
	}
	for _, name := range slices.Sorted(maps.Keys(channels)) {
		if s.Channel != "" && s.Channel != name {
			continue
		}
		channel, err := d.object(channels, name)
		if err == nil {
			_, err = d.object(channel, wanted)
		}
		if err != nil && s.Channel == "" {
			continue // not the one that is looked for
		}
		if err != nil {
			return endpoint{}, err
		}
		operation, _ := d.object(channel, wanted)
		if id, _ := operation["operationId"].(string); s.Channel == "" && id != s.Operation {
			continue
		}
		other := map[string]string{"publish": "subscribe", "subscribe": "publish"}[wanted]
		if operation == nil && channel[other] != nil {
			return endpoint{}, fmt.Errorf("the channel %q has no %s operation, only %s", excerpt.Clip(name, clipBytes), wanted, other)
		}
		return endpoint{name: name, address: name, channel: channel, operation: operation}, nil
	}
	if s.Channel == "" {
		return endpoint{}, fmt.Errorf("the document has no %s operation with the operationId %q", wanted, excerpt.Clip(s.Operation, clipBytes))
	}
	return endpoint{}, fmt.Errorf("the document has no channel %q; it has %s", excerpt.Clip(s.Channel, clipBytes), listed(channels))
}

func (d *Document) place3(channels map[string]any, s Selection) (endpoint, error) {
	if s.Operation == "" {
		channel, err := d.object(channels, s.Channel)
		if err != nil || channel == nil {
			return endpoint{}, orElse(err, fmt.Errorf("the document has no channel %q; it has %s", excerpt.Clip(s.Channel, clipBytes), listed(channels)))
		}
		return d.endpointAt(s.Channel, channel, nil)
	}
	operations, err := d.object(d.root, "operations")
	if err != nil {
		return endpoint{}, err
	}
	operation, err := d.object(operations, s.Operation)
	if err != nil || operation == nil {
		return endpoint{}, orElse(err, fmt.Errorf("the document has no operation %q; it has %s", excerpt.Clip(s.Operation, clipBytes), listed(operations)))
	}
	reference, _ := operation["channel"].(map[string]any)
	channel, err := d.object(operation, "channel")
	if err != nil || channel == nil {
		return endpoint{}, orElse(err, fmt.Errorf("the operation %q has no channel", excerpt.Clip(s.Operation, clipBytes)))
	}
	name, _ := reference["$ref"].(string)
	return d.endpointAt(name[strings.LastIndexByte(name, '/')+1:], channel, operation)
}

func (d *Document) endpointAt(name string, channel, operation map[string]any) (endpoint, error) {
	address, _ := channel["address"].(string)
	if address == "" {
		return endpoint{}, fmt.Errorf("the channel %q has no address", excerpt.Clip(name, clipBytes))
	}
	return endpoint{name: name, address: address, channel: channel, operation: operation}, nil
}

// server picks the server of the call.
func (d *Document) server(p endpoint, s Selection) (string, map[string]any, error) {
	servers, err := d.object(d.root, "servers")
	if err != nil {
		return "", nil, err
	}
	candidates := d.servers
	if own := d.serversOf(p); len(own) > 0 {
		candidates = own
	}
	var seen []string
	for _, name := range candidates {
		server, err := d.object(servers, name)
		if err != nil {
			return "", nil, err
		}
		protocol, _ := server["protocol"].(string)
		family := Family(protocol)
		if s.Server == name && family == "" {
			return "", nil, fmt.Errorf("the protocol %q of the server %q is not supported; supported are %s",
				excerpt.Clip(protocol, clipBytes), excerpt.Clip(name, clipBytes), strings.Join(Protocols(), ", "))
		}
		fits := s.Protocol == "" || family == Family(s.Protocol)
		if s.Server == name || s.Server == "" && fits && family != "" {
			return name, server, nil
		}
		seen = append(seen, fmt.Sprintf("%s (%s)", excerpt.Clip(name, clipBytes), excerpt.Clip(protocol, clipBytes)))
	}
	what := "server of a supported protocol (" + strings.Join(Protocols(), ", ") + ")"
	switch {
	case s.Server != "":
		what = fmt.Sprintf("server %q", excerpt.Clip(s.Server, clipBytes))
	case s.Protocol != "":
		what = fmt.Sprintf("server of the protocol %q", excerpt.Clip(s.Protocol, clipBytes))
	}
	if len(seen) == 0 {
		seen = []string{"none"}
	}
	return "", nil, fmt.Errorf("the channel %q has no %s; it has %s", excerpt.Clip(p.name, clipBytes), what, excerpt.Clip(strings.Join(seen, ", "), clipBytes))
}

// serversOf are the names of the servers that a channel is confined to.
func (d *Document) serversOf(p endpoint) []string {
	var names []string
	list, _ := p.channel["servers"].([]any)
	for _, item := range list {
		switch item := item.(type) {
		case string:
			names = append(names, item)
		case map[string]any:
			reference, _ := item["$ref"].(string)
			if name, ok := strings.CutPrefix(reference, "#/servers/"); ok {
				names = append(names, jsonpointer.Unescape(name))
			}
		}
	}
	return names
}

// messages are those of the operation, or of the channel where the operation names none.
func (d *Document) messages(p endpoint) ([]Message, error) {
	var list []any
	if d.major == 2 {
		message, err := d.resolve(p.operation["message"])
		if err != nil {
			return nil, err
		}
		object, _ := message.(map[string]any)
		if several, ok := object["oneOf"].([]any); ok {
			list = several
		} else if object != nil {
			list = []any{object}
		}
	} else if list, _ = p.operation["messages"].([]any); len(list) == 0 {
		all, err := d.object(p.channel, "messages")
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			list = append(list, all[name])
		}
	}
	messages := make([]Message, 0, len(list))
	for _, item := range list {
		message, err := d.message(item)
		if err != nil {
			return nil, err
		}
		messages = append(messages, message)
	}
	if len(messages) == 0 {
		messages = []Message{{}}
	}
	if general, _ := d.root["defaultContentType"].(string); general != "" {
		for i := range messages {
			if messages[i].ContentType == "" {
				messages[i].ContentType = general
			}
		}
	}
	return messages, nil
}

// message reads one message. What it does not say itself, its traits may.
func (d *Document) message(v any) (Message, error) {
	v, err := d.resolve(v)
	if err != nil {
		return Message{}, err
	}
	object, _ := v.(map[string]any)
	sources := []any{object}
	traits, _ := object["traits"].([]any)
	var m Message
	for _, source := range append(sources, traits...) {
		source, err := d.resolve(source)
		if err != nil {
			return Message{}, err
		}
		from, _ := source.(map[string]any)
		if m.ContentType == "" {
			m.ContentType, _ = from["contentType"].(string)
		}
		correlation, err := d.object(from, "correlationId")
		if err != nil {
			return Message{}, err
		}
		if m.Correlation == "" {
			m.Correlation, _ = correlation["location"].(string)
		}
	}
	return m, nil
}

func listed(m map[string]any) string {
	if len(m) == 0 {
		return "none"
	}
	return excerpt.Clip(strings.Join(slices.Sorted(maps.Keys(m)), ", "), clipBytes)
}

func orElse(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
