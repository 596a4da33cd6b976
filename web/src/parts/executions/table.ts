import type { Execution } from "../../api/executions.ts";
import { csvLines } from "../csv.ts";

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

/** The line of names with which a table of executions begins. */
export const executionNames = csvLines([Object.keys(columns)]);

/** Executions as lines of that table. */
export const executionLines = (executions: readonly Execution[]): string =>
  csvLines(executions.map((execution) => Object.values(columns).map((column) => column(execution))));
