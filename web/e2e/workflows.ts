import type { Admin } from "./people.ts";

/**
 * Definitions that tests apply. The tests of a worker share a server, and what one leaves the next one sees: a test
 * looks at its own workflows only, and one that looks at a whole list gives them a namespace of their own.
 */
export interface Workflow {
  name: string; // namespace/name
  id: string;
}

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
