package dslschema

func eventParts() schema {
	readAs := choice("What of an event is given on: its data, the whole event, or the raw text.", "data", "envelope", "raw").with("default", "data")
	return schema{
		{"emit", closed("An event to send.", []string{"event"},
			property("event", ref("event", "The event.")),
		)},
		{"event", closed("An event.", []string{"with"},
			property("with", attributes("The attributes of the event, as CloudEvents has them.").with("required", []string{"type"})),
		)},
		{"listen", closed("Events to wait for.", []string{"to"},
			property("to", ref("strategy", "Which events, and whether one or all of them.")),
			property("read", readAs),
		)},
		{"iterator", closed("What is done with every item.", nil,
			property("item", ref("variable", "The name of the variable with the item.").with("default", "item")),
			property("at", ref("variable", "The name of the variable with the index, from 0.").with("default", "index")),
			property("do", ref("tasks", "The tasks that run for every item.")),
			property("output", ref("output", "What is made of the output of each pass.")),
			property("export", ref("output", "What $context is after each pass.")),
		)},
		{"strategy", closed("One event, all of several, or any of several.", nil,
			property("one", ref("eventFilter", "Wait for one event.")),
			property("all", list("Wait until each of these has come in.", ref("eventFilter", ""))),
			property("any", list("Wait for the first of these; with until: for all that come in before it. An empty list: every event.", ref("eventFilter", ""))),
			property("until", either("With any: take events until this is true, or until these events have come in.", filled(""), ref("ending", ""))),
		).with("oneOf", oneOf("one", "all", "any")).with("dependentRequired", map[string][]string{"until": {"any"}})},
		{"ending", closed("One event, all of several, or any of several.", nil,
			property("one", ref("eventFilter", "Until one event.")),
			property("all", list("Until each of these has come in.", ref("eventFilter", ""))),
			property("any", list("Until the first of these.", ref("eventFilter", ""))),
		).one()},
		{"eventFilter", closed("Which event.", []string{"with"},
			property("with", attributes("The attributes that an event must have; texts may be patterns or expressions.")),
			property("correlate", named("Values that events must share.", ref("correlation", ""))),
		)},
		{"correlation", closed("A value that events must share.", []string{"from"},
			property("from", ref("expression", "The value of an event.")),
			property("expect", ref("expression", "What it must be. Without it: that of the first event.")),
		)},
	}
}

// attributes takes the attributes of an event; others than those listed are free.
func attributes(about string) schema {
	return open(about).with("minProperties", 1).with("properties", schema{
		property("id", filled("The id of the event.")),
		property("source", ref("uri", "Where the event comes from: a URI.")),
		property("type", filled("The type of the event.")),
		property("time", filled("When it happened.")),
		property("subject", filled("What the event is about.")),
		property("datacontenttype", filled("The media type of the data.")),
		property("dataschema", ref("uri", "The address of the schema of the data.")),
		property("data", anything("The data of the event.")),
	})
}
