import type { Execution } from "../../api/executions.ts";

/** The columns of an export as a table. Their names are those of the API, and the same in every language. */
const columns: Record<string, (execution: Execution) => string | undefined> = {
  id: ({ id }) => id,
  workflow: ({ workflow }) => workflow,
  workflow_version: (execution) => execution.workflow_version,
  status: ({ status }) => status,
  phase: ({ phase }) => phase,
  created_at: (execution) => execution.created_at,
  started_at: (execution) => execution.started_at,
  finished_at: (execution) => execution.finished_at,
  cause: ({ cause }) => cause.kind,
  labels: ({ labels }) => (labels && Object.keys(labels).length > 0 ? JSON.stringify(labels) : undefined),
  batch_id: (execution) => execution.batch_id,
  item_id: (execution) => execution.item_id,
  retry_of: (execution) => execution.retry_of,
  parent_id: (execution) => execution.parent_id,
  error_code: ({ error }) => error?.code,
  error_title: ({ error }) => error?.title,
  error_detail: ({ error }) => error?.detail,
};

/** What a spreadsheet would take for a formula begins with one of these. */
const formula = /^[=+\-@\t\r]/u;

/** A cell of a table with commas. Text stays text in a spreadsheet: what looks like a formula gets an apostrophe. */
function cell(text: string): string {
  const safe = formula.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Executions as a table with commas (RFC 4180), with a line of names at its beginning. */
export function asCSV(executions: readonly Execution[]): string {
  const lines = executions.map((execution) => Object.values(columns).map((column) => cell(column(execution) ?? "")));
  return [Object.keys(columns), ...lines].map((line) => `${line.join(",")}\r\n`).join("");
}

/** Executions as the API answers them, one a line. */
export const asLines = (executions: readonly Execution[]): string =>
  executions.map((execution) => `${JSON.stringify(execution)}\n`).join("");
