import { expect, test } from "vitest";
import type { Execution } from "../../api/executions.ts";
import { renewed } from "./live.ts";

test("what an execution does not wait for any more is not kept, and its input is", () => {
  const old = {
    id: "a",
    status: "human_in_the_loop",
    phase: "waiting",
    input: { name: "Ada" },
    waiting_for: { kind: "person", task_id: "t" },
    attempting: { reference: "/do/0/a", attempt: 2, next_at: "2026-01-31T10:00:00Z" },
    human_tasks: [{ id: "t" }],
  } as unknown as Execution;
  const now = { id: "a", status: "processing", phase: "running" } as Execution;
  expect(renewed(old, now)).toEqual({ id: "a", status: "processing", phase: "running", input: { name: "Ada" } });
});
