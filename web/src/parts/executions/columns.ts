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

/** How wide they are, compared with each other. */
const weights: Record<Column, number> = {
  state: 18,
  workflow: 22,
  now: 26,
  started: 11,
  took: 9,
  cause: 12,
  code: 13,
  labels: 16,
  batch: 10,
  item: 12,
  id: 13,
};
/** The column of the check boxes. */
const checks = 5;

/** The share of the table that each column has, the check boxes first if there are some. */
export function shares(shown: readonly Column[], withChecks: boolean): string[] {
  const wide = [...(withChecks ? [checks] : []), ...shown.map((column) => weights[column])];
  const sum = wide.reduce((total, weight) => total + weight, 0);
  return wide.map((weight) => `${((100 * weight) / sum).toFixed(2)}%`);
}

/** The columns that a person has chosen, of those that there are; the usual ones without a choice. */
export const chosenColumns = (names: readonly string[]): readonly Column[] =>
  names.length === 0 ? usual : columns.filter((name) => fixed.includes(name) || names.includes(name));

/** The choice with one column more or less. */
export const toggled = (chosen: readonly Column[], column: Column): Column[] =>
  columns.filter((name) => (name === column ? !chosen.includes(name) : chosen.includes(name)));
