import { apply, run, type Workflow } from "./workflows.ts";
import type { Admin } from "./people.ts";

/** A task of a person that an execution waits for. */
export interface Asked {
  /** Of the task. */
  id: string;
  execution: string;
}

/** Applies a workflow that asks a person. What it asks is an expression of its input, or fixed. */
export const asking = (admin: Admin, asks: object, document: object = {}): Promise<Workflow> =>
  apply(admin, [{ ask: { call: "human:1.0.0@default", with: asks } }], { document });

/** Runs such a workflow until it waits. */
export async function ask(admin: Admin, workflow: Workflow, input: object = {}): Promise<Asked> {
  const execution = await run(admin, workflow, input, "0s");
  for (;;) {
    const { data } = await admin.call<{ data: { id: string }[] }>("GET", `/human-tasks?execution_id=${execution}`);
    const [task] = data;
    if (task) {
      return { id: task.id, execution };
    }
  }
}
