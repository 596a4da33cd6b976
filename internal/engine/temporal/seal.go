package temporal

import (
	"encoding/json"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/secret"
)

// sealedEncoding marks a sealed payload, and executionKey names its execution. They are in histories: they never
// change.
const (
	sealedEncoding = "binary/chargehand-sealed"
	executionKey   = "chargehand-execution"
)

// sealable is a value that may hold secrets of an execution.
type sealable interface {
	sealing() (of chargehand.ExecutionID, confidential bool)
}

// sealing seals values that hold secrets, as JSON. It is a converter.PayloadConverter. Sealing the same value twice
// gives different bytes; Temporal compares no payloads on replay.
type sealing struct{ sealer *secret.Sealer }

// newConverter is the data converter of all clients. With a nil sealer nothing can be sealed or opened.
func newConverter(s *secret.Sealer) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.NewCompositeDataConverter(
		sealing{s},
		converter.NewNilPayloadConverter(), converter.NewByteSlicePayloadConverter(),
		converter.NewProtoJSONPayloadConverter(), converter.NewProtoPayloadConverter(), converter.NewJSONPayloadConverter(),
	), wholePayloads{s})
}

var errNoSealer = errors.New("the payload is sealed, or holds secrets, and there is no master key here")

// ToPayload implements converter.PayloadConverter. nil: the value need not be sealed.
func (s sealing) ToPayload(value any) (*commonpb.Payload, error) {
	c, ok := value.(sealable)
	if !ok {
		return nil, nil
	}
	id, confidential := c.sealing()
	if !confidential {
		return nil, nil
	}
	if s.sealer == nil {
		return nil, errNoSealer
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(sealedEncoding), executionKey: []byte(id.String())},
		Data:     s.sealer.Execution(id).Seal(string(engine.SealedPayload), data),
	}, nil
}

// FromPayload implements converter.PayloadConverter. Errors: secret.ErrSealed.
func (s sealing) FromPayload(p *commonpb.Payload, to any) error {
	if s.sealer == nil {
		return errNoSealer
	}
	var id chargehand.ExecutionID
	if err := id.UnmarshalText(p.GetMetadata()[executionKey]); err != nil {
		return fmt.Errorf("open payload: %w", err)
	}
	data, err := s.sealer.Execution(id).Open(string(engine.SealedPayload), p.GetData())
	if err != nil {
		return fmt.Errorf("open payload: %w", err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return errors.New("open payload: it is not of the expected type") // without the reason, which may quote it
	}
	return nil
}

// ToString implements converter.PayloadConverter.
func (s sealing) ToString(*commonpb.Payload) string { return "[sealed]" }

// Encoding implements converter.PayloadConverter.
func (s sealing) Encoding() string { return sealedEncoding }

// sealedWhole marks a payload that was sealed as a whole, because everything is. It is in histories: it never changes.
const sealedWhole = "binary/chargehand-sealed-whole"

// kindPayload is what such a payload is sealed as. Which workflow it belongs to is not known here, so it is not tied to
// one: who can write into Temporal's database can exchange payloads.
const kindPayload = "payload of Temporal"

// wholePayloads seals payloads of every kind, if everything is sealed, and opens them. It is a converter.PayloadCodec.
type wholePayloads struct{ sealer *secret.Sealer }

// Encode implements converter.PayloadCodec.
func (w wholePayloads) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if !w.sealer.SealsAll() {
		return payloads, nil
	}
	sealed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) == sealedEncoding {
			sealed[i] = p // it is tied to its execution already
			continue
		}
		data, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		sealed[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(sealedWhole)},
			Data:     w.sealer.SealColumn(nil, kindPayload, nil, data),
		}
	}
	return sealed, nil
}

// Decode implements converter.PayloadCodec. Errors: secret.ErrSealed, secret.ErrClear.
func (w wholePayloads) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	opened := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		switch encoding := string(p.GetMetadata()[converter.MetadataEncoding]); {
		case encoding != sealedWhole && encoding != sealedEncoding && w.sealer.RefusesClear():
			return nil, fmt.Errorf("open a payload in Temporal: %w", secret.ErrClear)
		case encoding != sealedWhole:
			opened[i] = p
			continue
		}
		if w.sealer == nil {
			return nil, errNoSealer
		}
		data, err := w.sealer.OpenColumn(kindPayload, nil, p.GetData())
		if err != nil {
			return nil, fmt.Errorf("open payload: %w", err)
		}
		opened[i] = new(commonpb.Payload)
		if err := proto.Unmarshal(data, opened[i]); err != nil {
			return nil, errors.New("open payload: it is none")
		}
	}
	return opened, nil
}

// newFailureConverter seals the texts of failures too, if everything is sealed.
func newFailureConverter(s *secret.Sealer, c converter.DataConverter) converter.FailureConverter {
	return sdk.NewDefaultFailureConverter(sdk.DefaultFailureConverterOptions{DataConverter: c, EncodeCommonAttributes: s.SealsAll()})
}
