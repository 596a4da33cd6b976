/** The columns that the list of executions can have, in their order. */
export const columns = [
  "state",
  "workflow",
  "now",
  "started",
  "took",
  "cause",
  "code",
  "labels",
  "batch",
  "item",
  "id",
] as const;
export type Column = (typeof columns)[number];

/** Columns that are always there: what a row is, and its link. */
export const fixed: readonly Column[] = ["state", "workflow"];
const usual: readonly Column[] = ["state", "workflow", "now", "started", "took", "cause", "id"];

/** The columns that a person has chosen, of those that there are; the usual ones without a choice. */
export const chosenColumns = (names: readonly string[]): readonly Column[] =>
  names.length === 0 ? usual : columns.filter((name) => fixed.includes(name) || names.includes(name));

/** The choice with one column more or less. */
export const toggled = (chosen: readonly Column[], column: Column): Column[] =>
  columns.filter((name) => (name === column ? !chosen.includes(name) : chosen.includes(name)));
