import { formatNumber, plural } from "./format.ts";

const executions = (n: number) => plural(n, "execution", "executions");

/** Texts of actions on many executions. */
export const operations = {
  label: "Selected executions",
  selected: (n: number) => `${formatNumber(n)} selected`,
  all: "All that match the filter are selected",
  selectAll: "Select all that match the filter",
  none: "Select none",
  select: (workflow: string, id: string) => `Select ${workflow} ${id}`,
  actions: { cancel: "Cancel", retry: "Retry", suspend: "Suspend", resume: "Resume", delete: "Delete" },
  retryThese: "Retry these",
  titles: {
    cancel: "Cancel executions",
    retry: "Retry executions",
    suspend: "Suspend executions",
    resume: "Resume executions",
    delete: "Delete executions",
  },
  helps: {
    cancel: "They end now and for good. What their tasks have done elsewhere stays done.",
    retry: "Each is repeated by a new execution with the same input and version. The old ones stay as they are.",
    suspend: "They start nothing new until they are resumed.",
    resume: "They continue where they were suspended.",
    delete: "They are deleted with everything that belongs to them. This cannot be undone.",
  },
  counting: "Counting what this would act on",
  would: {
    cancel: (n: string) => `This would cancel ${n}.`,
    retry: (n: string) => `This would retry ${n}.`,
    suspend: (n: string) => `This would suspend ${n}.`,
    resume: (n: string) => `This would resume ${n}.`,
    delete: (n: string) => `This would delete ${n}.`,
  },
  count: executions,
  atLeast: (n: number) => `at least ${executions(n)}`,
  nothing: "None of them can be acted on in this way.",
  type: (n: number) => `Type ${n} to go on`,
  wrongCount: (n: number) => `This is not ${n}.`,
  statuses: {
    selecting: "looking for executions",
    running: "running",
    completed: "completed",
    cancelled: "cancelled",
    stopped: "stopped by the server",
  },
  progress: "Progress",
  of: (done: number, total: number) => `${formatNumber(done)} of ${executions(total)}`,
  counts: { pending: "to do", succeeded: "done", skipped: "nothing to do", failed: "failed" },
  by: (name: string) => `by ${name}`,
  stop: "Cancel the operation",
  stopHelp: "It acts on no more executions. What it has done stays done.",
  failures: "What failed",
  execution: "Execution",
  why: "Why",
  back: "To the executions",
};
