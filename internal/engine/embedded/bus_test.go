package embedded

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// busEvents are events that go onto the bus together, once.
type busEvents struct {
	envelopes []value.Value
	stored    bool
}

// flush stores the events that are not stored yet. After a crash they are stored again: which
// of them were is not known.
func (o *suiteOutside) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.bus {
		if o.bus[i].stored {
			continue
		}
		if err := publish(o.engine, o.bus[i].envelopes); err != nil {
			return err
		}
		o.bus[i].stored = true
	}
	return nil
}

// suitePublisher is who stores the events of the suite.
var suitePublisher = engine.Publisher{Account: 1, Environment: chargehand.Live}

func publish(e *Engine, envelopes []value.Value) error {
	return e.Publish(context.Background(), suitePublisher, objects(envelopes))
}

func objects(envelopes []value.Value) []map[string]any {
	events := make([]map[string]any, len(envelopes))
	for i, v := range envelopes {
		events[i] = v.(map[string]any)
	}
	return events
}

// storeBefore stores what no execution gets: it is older than the millisecond in which the next one is accepted.
func (fx *fixture) storeBefore(o *suiteOutside) error {
	if len(o.script.Before) == 0 {
		return nil
	}
	events := objects(o.script.Envelopes(o.script.Before))
	_, err := fx.engine.matcher.Publish(context.Background(), suitePublisher, events, fx.engine.nowMs()-1)
	return err
}

// publishEvents stores the events of a script once its execution waits. The function that it returns
// stops that.
func (fx *fixture) publishEvents(o *suiteOutside, row store.Execution) (stop func()) {
	e, st := fx.engine, fx.store
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for o.flush() == nil {
			o.mu.Lock()
			published := o.published
			o.mu.Unlock()
			if published || len(o.script.Events) == 0 {
				return
			}
			var now store.Execution
			var listens []store.Subscription
			err := st.View(context.Background(), func(r *store.Reader) (err error) {
				if now, err = r.ExecutionByNo(row.No); err == nil {
					listens, err = r.Subscriptions(row.No)
				}
				return err
			})
			if err != nil || now.Status.Final() || e.stopping.Load() {
				return
			}
			if now.Phase == chargehand.Waiting || len(listens) > 0 {
				o.mu.Lock()
				o.published = true
				o.bus = append(o.bus, busEvents{envelopes: o.script.Envelopes(o.script.Events)})
				o.mu.Unlock()
				continue
			}
			select {
			case <-stopped:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() {
		select {
		case <-stopped:
		default:
			close(stopped)
		}
		<-done
	}
}
