import { expect, test } from "vitest";
import type { Entry, Task } from "../../api/detail.ts";
import { missing, samePasses, tookBoth } from "./compare.ts";
import { taskRows } from "./model.ts";

function task(reference: string, completed: number, kind: Task["kind"] = "set"): Task {
  const counts = { running: 0, waiting: 0, completed, faulted: 0, cancelled: 0 };
  const name = reference.split("/").at(-1) ?? "";
  return { reference, name, kind, phase: "completed", counts, attempts: 1, last_seq: 9 };
}

const entry = (started_at: string, finished_at: string) => ({ started_at, finished_at }) as Entry;

test("of a loop, the pass with the same number is shown, if there is one", () => {
  const others = taskRows([task("/do/0/each", 1, "for"), task("/do/0/each/do/0/ask", 3)]);
  expect([...samePasses(others, new Map([["/do/0/each", 2]]))]).toEqual([["/do/0/each", 2]]);
  expect(samePasses(others, new Map([["/do/0/each", 3]])).size).toBe(0);
  expect(samePasses(others, new Map([["/do/7/gone", 0]])).size).toBe(0);
});

test("a task that is missing stands for those in it", () => {
  const here = taskRows([task("/do/0/a", 1), task("/do/1/b", 1, "do"), task("/do/1/b/do/0/c", 1)]);
  const there = taskRows([task("/do/0/a", 1), task("/do/2/d", 1)]);
  expect(missing(here, there).map((row) => row.name)).toEqual(["b"]);
  expect(missing(there, here).map((row) => row.name)).toEqual(["d"]);
});

test("how long it took is compared of a task that ran once in each", () => {
  const [once, often] = taskRows([task("/do/0/a", 1), task("/do/1/b", 2)]);
  const rows = new Map([once!, often!].map((row) => [row.reference, row]));
  const run = entry("2026-01-01T00:00:00Z", "2026-01-01T00:00:02Z");
  const runs = new Map([...rows.keys()].map((reference) => [reference, [run]]));
  const other = { rows, runs, shift: 0, end: 1 };
  const own = entry("2026-01-02T00:00:00Z", "2026-01-02T00:00:05Z");
  expect(tookBoth(once!, [own], other)).toEqual({ here: 5000, there: 2000 });
  expect(tookBoth(often!, [own], other)).toBeUndefined();
  expect(tookBoth(once!, [{ ...own, finished_at: undefined } as unknown as Entry], other)).toBeUndefined();
  expect(tookBoth(once!, [own], { ...other, rows: new Map() })).toBeUndefined();
});
