import { formatNumber, plural } from "./format.ts";

/** Texts of the editor of definitions, of their graph and of what differs between two of them. */
export const definition = {
  graph: {
    task: "Task",
    kind: "Kind",
    detail: "What it does",
    condition: "Runs if",
    timeout: "Time limit",
    around: "Runs around it",
    line: "Line",
    child: "Workflow",
    excerpt: (task: string) => `Definition of ${task}`,
  },
  editor: {
    title: "New workflow",
    label: "Definition",
    edit: "Edit",
    close: "Close the editor",
    save: "Save draft",
    publish: "Publish",
    publishNow: "Publish now",
    run: "Run",
    runInTest: "Save and run in test",
    upload: "Open a file",
    reference: "Reference",
    /** Leads to a page of the reference. */
    more: (page: string) => `Reference: ${page === "README" ? "the language" : page}`,
    unsavedNew: "Not saved yet",
    unsaved: "unsaved changes",
    begunWith: (version: string, revision: number, draft: boolean) =>
      `Version ${version}, revision ${formatNumber(revision)}${draft ? ", draft" : ""}`,
    savedDraft: (version: string, revision: number) =>
      `The draft of ${version} is saved as revision ${formatNumber(revision)}. It runs in test only until it is published.`,
    published: (version: string) => `${version} is published.`,
    refused: (n: number) => `It is not saved: the server found ${plural(n, "problem", "problems")}.`,
    notYet: "It cannot be published yet: the definition has problems.",
    sameVersion: (version: string) =>
      `${version} was published before. This becomes a new revision of it; another number in document.version makes a version of its own.`,
    messageHelp: "What this version is for",
    kept: "This is text of yours that is not saved, from",
    discard: "Discard it",
    noRoom: "This browser has no room to keep your text. Save it before you leave.",
    forbidden: "You may not change workflows here: your roles in this environment lack workflows:write.",
    beside: "Beside the text",
    sides: { graph: "Graph", tests: "Tests", expression: "Expression", nothing: "Text only" },
    noGraph: "The graph is shown once the definition has no errors.",
    keys: "Ctrl S saves a draft, Ctrl Shift S publishes, Ctrl Enter runs, Ctrl P goes to a task, F2 renames the one at the cursor, Ctrl Space offers what can stand there, after a dash whole tasks, in which Tab goes from part to part, F1 opens the reference, F8 goes to the next problem. Escape, then Tab leaves the text.",
    tasks: { go: "Go to a task", rename: "Rename the task" },
    leaves: "Tab now leaves the text. Any other key writes again.",
    problems: "Problems",
    checking: "Checking",
    unchecked: "The definition could not be checked.",
    found: (errors: number, warnings: number) =>
      errors + warnings === 0
        ? "No problems"
        : [
            ...(errors > 0 ? [plural(errors, "error", "errors")] : []),
            ...(warnings > 0 ? [plural(warnings, "warning", "warnings")] : []),
          ].join(", "),
    place: (error: boolean, line: number, column: number) =>
      `${error ? "Error" : "Warning"}, line ${line}, column ${column}:`,
    leaveTitle: "Leave the editor?",
    leaveText: "Your changes are not saved. This browser keeps them, and offers them when you come back.",
    leaveWithout: "Your changes are not saved, and this browser cannot keep them.",
    leave: "Leave",
    stay: "Stay",
    /** Names of the language, and what they stand for. */
    variables: [
      ["$context", "What tasks have exported"],
      ["$input", "The input of the task"],
      ["$output", "The output of the task"],
      ["$secrets", "Secrets that use.secrets names"],
      ["$task", "The task: name, reference, definition, input, startedAt"],
      ["$workflow", "The execution: id, definition, input, startedAt"],
      ["$runtime", "The server: name, version"],
      ["$authorization", "What the call authenticates with"],
      ["$error", "In catch: the error"],
    ] as readonly (readonly [string, string])[],
    /** Texts of CodeMirror, by its own. */
    phrases: {} as Record<string, string>,
  },
  compare: {
    title: "Compare",
    open: "Compare versions",
    from: "From",
    to: "To",
    layout: "Layout",
    split: "Side by side",
    unified: "One below the other",
    same: "Both are the same.",
  },
  expression: {
    expression: "Expression",
    input: "Input",
    evaluate: "Evaluate",
    value: "Value",
    notJson: (why: string) => `This is not JSON: ${why}`,
    tryIt: "Try an expression",
  },
};
