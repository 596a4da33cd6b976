package dsl

var (
	emitObject  = object{required: []string{"event"}, hints: map[string]string{"with": "Write event: {with: …}."}}
	eventObject = object{required: []string{"with"}, hints: map[string]string{
		"type": "Put the attributes of the event into `with`.", "source": "Put the attributes of the event into `with`.",
		"data": "Put the attributes of the event into `with`.",
	}}
)

func (d *decoder) emit(at location) *Emit {
	result := &Emit{Pointer: at.pointer}
	d.object(at, &emitObject, property{"event", func(event location) {
		d.object(event, &eventObject, property{"with", func(with location) {
			result.With = d.attributes(with)
			if with.shape == shapeObject {
				d.require(with, "type")
			}
		}})
	}})
	return result
}

// attributes reads the attributes of an event. Extension attributes are free, as is `data`.
func (d *decoder) attributes(at location) Operand {
	if at.shape != shapeObject {
		d.wrongType(at, "an object with the attributes of an event", "")
		return Operand{}
	}
	if at.isEmpty() {
		d.invalid(at, "must have at least one attribute.", "")
	}
	for i := range at.members {
		value := at.property(&at.members[i])
		switch at.members[i].key {
		case "id", "type", "time", "subject", "datacontenttype":
			d.filledOperand(value)
		case "source", "dataschema":
			d.uri(value)
		}
	}
	return d.operand(at)
}

var listenObject = object{required: []string{"to"}, hints: map[string]string{
	"one": "Write to: {one: …}.", "any": "Write to: {any: …}.", "all": "Write to: {all: …}.",
	"foreach": "Put `foreach` beside `listen`, not into it.",
}}

func (d *decoder) listen(task, at location) *Listen {
	result := &Listen{Pointer: at.pointer, Read: ReadData}
	d.object(at, &listenObject,
		property{"to", func(value location) { result.To = d.strategy(value, false) }},
		field("read", &result.Read, d.oneOf(ReadData, ReadEnvelope, ReadRaw)),
	)
	if value, ok := task.get("foreach"); ok {
		result.Foreach = d.iterator(value)
	}
	return result
}

var iteratorObject = object{hints: map[string]string{
	"each": `Did you mean "item"?`, "index": `Did you mean "at"?`,
}}

func (d *decoder) iterator(at location) *Iterator {
	result := &Iterator{Pointer: at.pointer, Item: "item", At: "index"}
	d.object(at, &iteratorObject,
		field("item", &result.Item, d.variable),
		field("at", &result.At, d.variable),
		field("do", &result.Do, d.taskList),
		field("output", &result.Output, d.output),
		field("export", &result.Export, d.output),
	)
	if result.Item == result.At && result.Item != "" {
		d.invalid(at, "gives item and index the same name.", "")
	}
	return result
}

var (
	strategyNames  = []string{"one", "all", "any"}
	strategyObject = object{hints: map[string]string{"with": "Write one: {with: …}."}}
)

// strategy reads an event consumption strategy. One that is itself an `until` has no `until`.
func (d *decoder) strategy(at location, isUntil bool) *Strategy {
	result := &Strategy{Pointer: at.pointer}
	d.object(at, &strategyObject,
		property{"one", func(value location) {
			result.Mode = StrategyOne
			result.Filters = []*EventFilter{d.eventFilter(value)}
		}},
		property{"all", func(value location) {
			result.Mode = StrategyAll
			result.Filters = d.eventFilters(value)
		}},
		property{"any", func(value location) {
			result.Mode = StrategyAny
			result.Filters = d.eventFilters(value)
		}},
		property{"until", func(value location) { d.until(at, value, isUntil, result) }},
	)
	d.exactlyOne(at, strategyNames...)
	return result
}

func (d *decoder) until(strategy, at location, isUntil bool, result *Strategy) {
	switch {
	case isUntil:
		d.problem(at, CodeConflict, "The strategy of an `until` must not have an `until` itself.", "")
	case !strategy.has("any"):
		d.problem(at, CodeConflict, `"until" is only allowed together with "any".`, "")
	case at.shape == shapeObject:
		result.UntilEvents = d.strategy(at, true)
	case at.shape == shapeText:
		result.Until = d.filledOperand(at)
	default:
		hint := ""
		if at.shape == shapeBoolean {
			hint = "Write '${ " + at.raw + " }'."
		}
		d.wrongType(at, "an expression or a strategy (an object)", hint)
	}
}

func (d *decoder) eventFilters(at location) []*EventFilter {
	if at.shape != shapeList {
		d.wrongType(at, "a list of event filters", "Write - with: {type: …}.")
		return nil
	}
	filters := make([]*EventFilter, 0, len(at.items))
	for i := range at.items {
		filters = append(filters, d.eventFilter(at.item(i)))
	}
	return filters
}

var (
	filterObject = object{required: []string{"with"}, hints: map[string]string{
		"type": "Put the attributes of the event into `with`.", "source": "Put the attributes of the event into `with`.",
		"data": "Put the attributes of the event into `with`.",
	}}
)

func (d *decoder) eventFilter(at location) *EventFilter {
	result := &EventFilter{Pointer: at.pointer}
	d.object(at, &filterObject,
		field("with", &result.With, d.filterAttributes),
		table(d, "correlate", &result.Correlate, d.correlation),
	)
	return result
}

// filterAttributes reads what events are compared with: the attributes may be patterns, so
// that their form is not checked (T57).
func (d *decoder) filterAttributes(at location) Operand {
	if at.isEmpty() {
		d.invalid(at, "must have at least one attribute.", "Write any: [] for every event.")
	}
	for i := range at.members {
		switch at.members[i].key {
		case "id", "type", "time", "subject", "datacontenttype", "source", "dataschema":
			d.filledOperand(at.property(&at.members[i]))
		}
	}
	return d.plainMapOperand(at)
}

func (d *decoder) correlation(at location) Correlation {
	var result Correlation
	d.object(at, &object{required: []string{"from"}},
		field("from", &result.From, d.expressionOperand),
		field("expect", &result.Expect, d.expressionOperand),
	)
	return result
}
