import type { Admin } from "./people.ts";

/**
 * Definitions that tests apply. The tests of a worker share a server, and what one leaves the next one sees: a test
 * looks at its own workflows only, and one that looks at a whole list gives them a namespace of their own.
 */
export interface Workflow {
  name: string; // namespace/name
  id: string;
}

/** Tasks that end at once, and those that wait for longer than any test. */
export const greets = [{ greet: { set: { greeting: "${ .name }" } } }];
export const waits = [{ pause: { wait: { hours: 1 } } }];

/** A task that fails. More is a part of its error, such as its detail, or of the task. */
export const refuse = (error: object = {}, task: object = {}): object => ({
  ...task,
  raise: { error: { type: "https://example.com/refused", status: 422, title: "Refused by Anna", ...error } },
});

let workflows = 0;

/** Applies a workflow with the tasks that are given, and publishes it. More is the rest of it, in document too. */
export async function apply(
  admin: Admin,
  tasks: object[],
  more: { document?: object; input?: object } = {},
): Promise<Workflow> {
  workflows++;
  const name = `flow-${workflows}x`; // no name is the beginning of another one
  const own = { dsl: "1.0.3", namespace: `ui-${process.pid}`, name, version: "1.0.0" };
  const document = { ...own, ...more.document };
  const applied = await admin.call<{ id: string }>("POST", "/workflows", { ...more, document, do: tasks });
  return { name: `${document.namespace}/${document.name}`, id: applied.id };
}

/** Runs a workflow, and waits until it has ended or waits. */
export async function run(admin: Admin, workflow: Workflow, input: object = {}, wait = "30s"): Promise<string> {
  const path = `/workflows/${workflow.id}/executions?wait=${wait}`;
  return (await admin.call<{ execution_id: string }>("POST", path, { input })).execution_id;
}

/** Runs a workflow for items. More is the rest of the request; the answer waits for the end at most so long. */
export const runBatch = (
  admin: Admin,
  workflow: Workflow,
  items: readonly object[],
  { wait = "60s", ...more }: { wait?: string; labels?: object; concurrency?: number } = {},
): Promise<{ id: string; total: number }> =>
  admin.call("POST", `/workflows/${workflow.id}/batch?wait=${wait}&executions=none`, { items, ...more });

/** So many items that differ. */
export const numbered = (n: number): { number: number }[] => Array.from({ length: n }, (_, number) => ({ number }));
