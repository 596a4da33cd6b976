package dsl

import "fmt"

var (
	processNames = []string{"container", "script", "shell", "workflow"}
	runObject    = object{known: []string{"container", "script", "shell", "workflow", "await", "return"}, hints: map[string]string{
		"command": "Write shell: {command: …}.", "code": "Write script: {language: …, code: …}.", "image": "Write container: {image: …}.",
	}, hint: "Write run: {shell: {command: …}}."}
)

func (d *decoder) run(at location) *Run {
	result := &Run{Pointer: at.pointer, Await: true, Return: ReturnStdout}
	for key, value := range d.fields(at, &runObject) {
		switch key {
		case "container":
			result.Container = d.container(value)
		case "script":
			result.Script = d.script(value)
		case "shell":
			result.Shell = d.shell(value)
		case "workflow":
			result.Workflow = d.subflow(value)
		case "await":
			result.Await = d.boolean(value, true)
		case "return":
			result.Return = d.oneOf(value, ReturnStdout, ReturnStderr, ReturnCode, ReturnAll, ReturnNone)
		}
	}
	d.exactlyOne(at, processNames...)
	return result
}

// misplaced answers `await` and `return` inside the process instead of beside it.
var misplaced = map[string]string{
	"await": "Put `await` beside the process, into `run`.", "return": "Put `return` beside the process, into `run`.",
	"args": `Did you mean "arguments"?`, "env": `Did you mean "environment"?`,
}

var shellObject = object{known: []string{"command", "stdin", "arguments", "environment"}, required: []string{"command"}, hints: misplaced,
	hint: "Write shell: {command: …}."}

func (d *decoder) shell(at location) *Shell {
	result := &Shell{Pointer: at.pointer}
	for key, value := range d.fields(at, &shellObject) {
		switch key {
		case "command":
			result.Command = d.filledOperand(value)
		case "stdin":
			result.Stdin = d.textOperand(value)
		case "arguments":
			result.Arguments = d.arguments(value)
		case "environment":
			result.Environment = d.scalarMapOperand(value)
		}
	}
	return result
}

var scriptObject = object{known: []string{"language", "code", "source", "stdin", "arguments", "environment"}, required: []string{"language"}, hints: misplaced}

func (d *decoder) script(at location) *Script {
	result := &Script{Pointer: at.pointer}
	for key, value := range d.fields(at, &scriptObject) {
		switch key {
		case "language":
			result.Language = d.filled(value)
		case "code":
			result.Code = d.textOperand(value)
		case "source":
			result.Source = d.resource(value)
		case "stdin":
			result.Stdin = d.textOperand(value)
		case "arguments":
			result.Arguments = d.arguments(value)
		case "environment":
			result.Environment = d.scalarMapOperand(value)
		}
	}
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

var containerObject = object{known: []string{"image", "name", "command", "ports", "volumes", "environment", "stdin", "arguments", "pullPolicy", "lifetime"},
	required: []string{"image"}, hints: misplaced}

func (d *decoder) container(at location) *Container {
	result := &Container{Pointer: at.pointer, PullPolicy: "ifNotPresent", Cleanup: "never"}
	for key, value := range d.fields(at, &containerObject) {
		switch key {
		case "image":
			result.Image = d.filledOperand(value)
		case "name":
			result.Name = d.expressionOperand(value)
		case "command":
			result.Command = d.textOperand(value)
		case "ports":
			result.Ports = d.plainMapOperand(value)
		case "volumes":
			result.Volumes = d.plainMapOperand(value)
		case "environment":
			result.Environment = d.scalarMapOperand(value)
		case "stdin":
			result.Stdin = d.textOperand(value)
		case "arguments":
			result.Arguments = d.argumentList(value)
		case "pullPolicy":
			result.PullPolicy = d.oneOf(value, "ifNotPresent", "always", "never")
		case "lifetime":
			d.lifetime(value, result)
		}
	}
	return result
}

var lifetimeObject = object{known: []string{"cleanup", "after"}, required: []string{"cleanup"}}

func (d *decoder) lifetime(at location, result *Container) {
	for key, value := range d.fields(at, &lifetimeObject) {
		if key == "cleanup" {
			result.Cleanup = d.oneOf(value, "always", "never", "eventually")
		} else {
			result.CleanupAfter = d.duration(value)
		}
	}
	switch isEventual := result.Cleanup == "eventually"; {
	case isEventual:
		d.require(at, "after")
	case result.CleanupAfter != nil:
		d.problem(at, CodeConflict, `"after" is only allowed with cleanup: eventually.`, "")
	}
}

var subflowObject = object{known: []string{"namespace", "name", "version", "input"}, required: []string{"namespace", "name"},
	hints: map[string]string{"with": `Did you mean "input"?`, "await": misplaced["await"]}}

func (d *decoder) subflow(at location) *Subflow {
	result := &Subflow{Pointer: at.pointer, Version: "latest"}
	for key, value := range d.fields(at, &subflowObject) {
		switch key {
		case "namespace":
			result.Namespace = d.workflowName(value)
		case "name":
			result.Name = d.workflowName(value)
		case "version":
			result.Version = d.text(value)
			if value.shape == shapeText && result.Version != "latest" && !isSemanticVersion(result.Version) {
				d.invalid(value, fmt.Sprintf("is %s; it must be a semantic version or latest.", quote(result.Version)), "")
			}
		case "input":
			result.Input = d.operand(value)
		}
	}
	return result
}
