package dsl

import "fmt"

var (
	processNames = []string{"container", "script", "shell", "workflow"}
	runObject    = object{hints: map[string]string{
		"command": "Write shell: {command: …}.", "code": "Write script: {language: …, code: …}.", "image": "Write container: {image: …}.",
	}, hint: "Write run: {shell: {command: …}}."}
)

func (d *decoder) run(at location) *Run {
	result := &Run{Pointer: at.pointer, Await: true, Return: ReturnStdout}
	d.object(at, &runObject,
		field("container", &result.Container, d.container),
		field("script", &result.Script, d.script),
		field("shell", &result.Shell, d.shell),
		field("workflow", &result.Workflow, d.subflow),
		field("await", &result.Await, d.boolean(true)),
		field("return", &result.Return, d.oneOf(ReturnStdout, ReturnStderr, ReturnCode, ReturnAll, ReturnNone)),
	)
	d.exactlyOne(at, processNames...)
	return result
}

// misplaced answers `await` and `return` inside the process instead of beside it.
var misplaced = map[string]string{
	"await": "Put `await` beside the process, into `run`.", "return": "Put `return` beside the process, into `run`.",
	"args": `Did you mean "arguments"?`, "env": `Did you mean "environment"?`,
}

var shellObject = object{required: []string{"command"}, hints: misplaced,
	hint: "Write shell: {command: …}."}

func (d *decoder) shell(at location) *Shell {
	result := &Shell{Pointer: at.pointer}
	d.object(at, &shellObject,
		field("command", &result.Command, d.filledOperand),
		field("stdin", &result.Stdin, d.textOperand),
		property{"arguments", func(value location) {
			result.Arguments = d.arguments(value)
			for i := range value.members {
				result.ArgumentOrder = append(result.ArgumentOrder, value.members[i].key)
			}
		}},
		field("environment", &result.Environment, d.scalarMapOperand),
	)
	return result
}

var scriptObject = object{required: []string{"language"}, hints: misplaced}

func (d *decoder) script(at location) *Script {
	result := &Script{Pointer: at.pointer}
	d.object(at, &scriptObject,
		field("language", &result.Language, d.filled),
		field("code", &result.Code, d.textOperand),
		field("source", &result.Source, d.resource),
		field("stdin", &result.Stdin, d.textOperand),
		field("arguments", &result.Arguments, d.arguments),
		field("environment", &result.Environment, d.scalarMapOperand),
	)
	d.exactlyOne(at, "code", "source")
	return result
}

// arguments reads a list (argv) or a map (T46), or an expression that yields one.
func (d *decoder) arguments(at location) Operand {
	switch {
	case at.shape == shapeObject:
	case at.shape == shapeList:
		d.scalars(at)
	case at.shape == shapeText && d.isExpression(at.value.(string)):
	default:
		d.wrongType(at, "a list or an object", "")
		return Operand{}
	}
	return d.operand(at)
}

func (d *decoder) scalars(at location) {
	for i := range at.items {
		d.scalar(at.item(i))
	}
}

// argumentList reads a list of texts.
func (d *decoder) argumentList(at location) Operand {
	if at.shape != shapeList {
		d.wrongType(at, "a list", "")
		return Operand{}
	}
	d.scalars(at)
	return d.operand(at)
}

var containerObject = object{
	required: []string{"image"}, hints: misplaced}

func (d *decoder) container(at location) *Container {
	result := &Container{Pointer: at.pointer, PullPolicy: "ifNotPresent", Cleanup: "never"}
	d.object(at, &containerObject,
		field("image", &result.Image, d.filledOperand),
		field("name", &result.Name, d.expressionOperand),
		field("command", &result.Command, d.textOperand),
		field("ports", &result.Ports, d.plainMapOperand),
		field("volumes", &result.Volumes, d.plainMapOperand),
		field("environment", &result.Environment, d.scalarMapOperand),
		field("stdin", &result.Stdin, d.textOperand),
		field("arguments", &result.Arguments, d.argumentList),
		field("pullPolicy", &result.PullPolicy, d.oneOf("ifNotPresent", "always", "never")),
		property{"lifetime", func(value location) { d.lifetime(value, result) }},
	)
	return result
}

func (d *decoder) lifetime(at location, result *Container) {
	d.object(at, &object{required: []string{"cleanup"}},
		field("cleanup", &result.Cleanup, d.oneOf("always", "never", "eventually")),
		field("after", &result.CleanupAfter, d.duration),
	)
	switch isEventual := result.Cleanup == "eventually"; {
	case isEventual:
		d.require(at, "after")
	case result.CleanupAfter != nil:
		d.problem(at, CodeConflict, `"after" is only allowed with cleanup: eventually.`, "")
	}
}

var subflowObject = object{required: []string{"namespace", "name"},
	hints: map[string]string{"with": `Did you mean "input"?`, "await": misplaced["await"]}}

func (d *decoder) subflow(at location) *Subflow {
	result := &Subflow{Pointer: at.pointer, Version: "latest"}
	d.object(at, &subflowObject,
		field("namespace", &result.Namespace, d.workflowName),
		field("name", &result.Name, d.workflowName),
		property{"version", func(value location) {
			result.Version = d.text(value)
			if value.shape == shapeText && result.Version != "latest" && !isSemanticVersion(result.Version) {
				d.invalid(value, fmt.Sprintf("is %s; it must be a semantic version or latest.", quote(result.Version)), "")
			}
		}},
		field("input", &result.Input, d.operand),
	)
	return result
}
