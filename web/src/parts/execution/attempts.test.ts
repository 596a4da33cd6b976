import { expect, test } from "vitest";
import type { Entry, Task } from "../../api/detail.ts";
import { attemptsOf } from "./attempts.ts";
import { taskRows } from "./model.ts";

const start = Date.parse("2026-01-01T00:00:00Z");
const at = (ms: number) => new Date(start + ms).toISOString();

function task(reference: string, kind: Task["kind"]): Task {
  const counts = { running: 0, waiting: 0, completed: 1, faulted: 0, cancelled: 0 };
  const name = reference.split("/").at(-1) ?? "";
  return { reference, name, kind, phase: "completed", counts, attempts: 3, last_seq: 9 };
}

function run(seq: number, parent: number, attempt: number, from: number, to?: number): Entry {
  const times = { started_at: at(from), ...(to !== undefined && { finished_at: at(to) }) };
  return { seq, parent_seq: parent, attempt, ...times } as unknown as Entry;
}

const rows = taskRows([
  task("/do/0/guard", "try"),
  task("/do/0/guard/try/0/ask", "call"),
  task("/do/0/guard/try/1/keep", "set"),
  task("/do/0/guard/catch/do/0/tell", "set"),
]);
const [guard, ask, keep, tell] = rows.map((row) => row.reference);

const parts = (whole: Entry, asked: Entry[], kept: Entry[] = [], told: Entry[] = [], cut = [] as typeof rows) =>
  attemptsOf(
    rows,
    new Map([
      [guard!, [whole]],
      [ask!, asked],
      [keep!, kept],
      [tell!, told],
    ]),
    cut,
  )
    .get(1)
    ?.map(({ attempt, delay, from, to }) => [delay ? "delay" : "attempt", attempt, from - start, to && to - start]);

test("attempts and the delays between them come from the tasks that are tried", () => {
  const asked = [run(2, 1, 1, 0, 10), run(3, 1, 2, 110, 120), run(5, 1, 3, 120, 130)];
  const kept = [run(4, 1, 2, 120, 120), run(6, 1, 3, 130, 140)];
  const told = [run(7, 1, 1, 900, 990)];
  expect(parts(run(1, 0, 1, 0, 1000), asked, kept, told)).toEqual([
    ["attempt", 1, 0, 10],
    ["delay", 2, 10, 110],
    ["attempt", 2, 110, 120],
    ["attempt", 3, 120, 140],
  ]);
  // Runs of another pass, or of another try, are not of this one.
  expect(parts(run(1, 0, 1, 0, 1000), [asked[0]!, run(9, 8, 2, 110, 120)])).toBeUndefined();
});

test("what has not ended is open", () => {
  const waits = { ...run(1, 0, 1, 0), waiting_for: { kind: "retry" } } as Entry;
  expect(parts(waits, [run(2, 1, 1, 0, 10)])).toEqual([
    ["attempt", 1, 0, 10],
    ["delay", 2, 10, undefined],
  ]);
  expect(parts(run(1, 0, 1, 0), [run(2, 1, 1, 0, 10), run(3, 1, 2, 50)])?.at(-1)).toEqual([
    "attempt",
    2,
    50,
    undefined,
  ]);
});

test("nothing is made up where runs are left out", () => {
  const asked = [run(2, 1, 1, 0, 10), run(5, 1, 3, 120, 130)];
  expect(parts(run(1, 0, 1, 0, 1000), asked)).toEqual([
    ["attempt", 1, 0, 10],
    ["attempt", 3, 120, 130],
  ]);
  expect(parts(run(1, 0, 1, 0, 1000), asked, [], [], [rows[1]!])).toBeUndefined();
});
