/** Texts of the graph of a definition and of what is written about it. */
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
};
