package dslschema

// humanFunction is the function of the default catalog that asks a person. Its arguments are those of package human.
const humanFunction = "human:1.0.0@default"

// orExpression takes what a schema takes, or an expression, of which null counts as nothing.
func orExpression(about string, s schema) schema {
	return schema{{"description", about}, {"anyOf", []schema{s, {{"type", []string{"string", "null"}}}}}}
}

func humanParts() schema {
	span := func(about string) schema { return orExpression(about, ref("span", "")) }
	people := func(about string) schema {
		return list(about, either("An e-mail address, the id of a user, or the by of an earlier answer.", filled(""), open("")))
	}
	return schema{
		{"humanArguments", closed("What a person is asked.", []string{"title"},
			property("title", filled("What the person is to do, in one line.")),
			property("instructions", orExpression("More about it, as Markdown.", text(""))),
			property("assignees", either("Who may answer. An e-mail address needs no account: the person gets a link. Without assignees: all people who may answer tasks, and to whom one of them gives a link.", ref("assignees", ""), filled(""))),
			property("form", orExpression("A JSON Schema of the data to be entered. Without it, only an outcome is asked for.", open(""))),
			property("data", anything("What the form is filled with.")),
			property("outcomes", orExpression("The decisions to choose from. Default: done.", list("", ref("outcome", "")).with("minItems", 1).with("maxItems", 9))),
			property("due", span("When the answer is due, as a duration after the opening. It ends nothing: a timeout does.")),
			property("remind", orExpression("When to remind, as durations after the opening.", list("", span("")).with("maxItems", 10))),
			property("priority", orExpression("How important it is.", whole("", 0, 100).with("default", 50))),
			property("show", anything("Data to be looked at.")),
			property("files", orExpression("References to files to be looked at.", list("", anything("")).with("maxItems", 100))),
			property("upload", orExpression("Which files the answer may have.", ref("upload", ""))),
			property("answer_by_event", orExpression("An event may answer. Not together with assignees.", schema{{"type", "boolean"}, {"default", false}})),
		)},
		{"assignees", closed("Who may answer.", nil,
			property("users", either("These people.", people(""), filled(""))),
			property("groups", either("The members of these groups, by name.", list("", filled("")), filled(""))),
			property("exclude", either("Not these people, whatever else says that they may. The whole by of an earlier answer stands for those too who have made the link that was used, or have reassigned the task.", people(""), filled(""))),
		)},
		{"outcome", schema{{"description", "A decision: its name, or its name with how it is shown."}, {"anyOf", []schema{
			filled(""),
			closed("", []string{"name"},
				property("name", filled("What the workflow gets.")),
				property("title", orExpression("What people read. Default: the name.", text(""))),
				property("style", orExpression("How its button looks.", schema{{"enum", []string{"primary", "danger"}}})),
			),
		}}}},
		{"span", either("A duration. Expressions may stand for its parts.", ref("duration", ""), open(""))},
		{"upload", closed("Which files the answer may have.", nil,
			property("accept", orExpression("Media types such as image/*, or endings such as .pdf. Without it: any.", list("", filled("")))),
			property("max", orExpression("How many.", whole("", 1, 100).with("default", 1))),
			property("required", orExpression("The answer must have one.", schema{{"type", "boolean"}, {"default", false}})),
		)},
	}
}
