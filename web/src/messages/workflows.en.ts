import { formatNumber, plural } from "./format.ts";

/** A number that was counted, and whether there may be more. */
const counted = (n: number, more: boolean) => `${formatNumber(n)}${more ? "+" : ""}`;

export const workflows = {
  title: "Workflows",
  columns: {
    workflow: "Workflow",
    version: "Version",
    last: "Last execution",
    day: "Last 24 hours",
    tags: "Tags",
    next: "Next start",
  },
  never: "never ran",
  started: (n: number, more: boolean) => `${counted(n, more)} started`,
  open: (n: number, more: boolean) => `${counted(n, more)} open`,
  failed: (n: number, more: boolean) => `${counted(n, more)} failed`,
  draft: "draft",
  draftHelp: "It has no published version, and runs in test only.",
  text: "Text",
  textHelp: "Part of the name or title",
  namespace: "Namespace",
  tag: "Tag",
  drafts: "Drafts",
  draftChoices: { usual: "as usual here", true: "also drafts", false: "no drafts" },
  newer: (n: number) => `${formatNumber(n)} new`,
  newerHelp: "Show the new workflows",
  onlyTag: (tag: string) => `Only workflows with the tag ${tag}`,
  empty: "There is no workflow yet.",
  emptyHelp: "This command adds one of the examples:",
  emptyFiltered: "No workflows match.",
  end: "These are all.",
  count: (n: number) => plural(n, "workflow", "workflows"),
};

export const workflow = {
  name: "Name",
  version: "Version",
  versionIs: (version: string) => `Version ${version}`,
  tabs: {
    label: "Parts of the workflow",
    definition: "Definition",
    versions: "Versions",
    run: "Run",
    api: "API",
  },
  api: {
    about:
      "Programs start this workflow so. The input is what is in the form. They read their key from CHARGEHAND_API_KEY:",
  },
  lines: (n: number) => plural(n, "line", "lines"),
  download: "Download",
  older: (version: string) => `This is version ${version}.`,
  toCurrent: (version: string) => `Show ${version}, which is started`,
  message: "Message",
  by: "By",
  changed: "Changed",
  open: "Open executions",
  openCount: (n: number, more: boolean) =>
    more ? `${counted(n, more)} executions` : plural(n, "execution", "executions"),
  published: "published",
  publish: "Publish",
  rollBack: "Roll back",
  publishTitle: (version: string) => `Publish version ${version}`,
  rollBackTitle: (version: string) => `Roll back to version ${version}`,
  publishHelp: "Executions that start from now on follow it. Another version can be published at any time.",
  staying: (count: string, version: string) => `${count} that have begun with ${version} stay on it.`,
};

export const form = {
  value: "Value",
  input: "Input",
  name: "Name",
  required: "required",
  choose: "Choose",
  variant: "Form",
  form: (n: number) => `Form ${n}`,
  entry: (n: number) => `Entry ${formatNumber(n)}`,
  add: "Add an entry",
  addTo: (name: string) => (name === "" ? "Add an entry" : `Add an entry to ${name}`),
  remove: "Remove",
  removeOf: (name: string) => `Remove ${name}`,
  uploading: "Uploading",
  nothing: "It needs no input.",
  start: "Start",
  asJson: "Write it as JSON",
  asForm: "Back to the form",
  notForm: "The form cannot show this: it is not JSON, or has something that the form has no field for.",
  wrongCount: (n: number) => `${plural(n, "field is", "fields are")} not right yet.`,
  wrong: {
    missing: "Fill this in.",
    number: "This is no number.",
    integer: "This is no whole number.",
    json: "This is not JSON, or not what is asked for: an object is in braces.",
    name: "Each entry needs a name of its own.",
  },
};
