import { expect, test } from "vitest";
import { findPass, type Entry, type Task } from "../../api/detail.ts";
import { failingTask, passesOf, seenRows, taskRows, topTask } from "./model.ts";

function task(reference: string, kind: Task["kind"], counts: Partial<Task["counts"]>): Task {
  const none = { running: 0, waiting: 0, completed: 0, faulted: 0, cancelled: 0 };
  const phase = counts.faulted ? "faulted" : "completed";
  const name = reference.split("/").at(-1) ?? "";
  return { reference, name, kind, phase, counts: { ...none, ...counts }, attempts: 1, last_seq: 9 };
}

const tasks = [
  task("/do/0/each", "for", { faulted: 1 }),
  task("/do/0/each/do/0/ask", "call", { completed: 7, faulted: 1 }),
  task("/do/0/each/do/1/keep", "set", { completed: 7 }),
  task("/do/1/end", "set", { completed: 1 }),
];

test("rows are the tree of the references", () => {
  const rows = taskRows(tasks);
  expect(rows.map((row) => row.depth)).toEqual([0, 1, 1, 0]);
  expect(rows.map((row) => row.loop?.name)).toEqual([undefined, "each", "each", undefined]);
  expect(passesOf(rows[0]!, rows)).toBe(8);
  expect(seenRows(rows, new Set(["/do/0/each"]), "all").map((row) => row.name)).toEqual(["each", "end"]);
  expect(seenRows(rows, new Set(), "failed").map((row) => row.name)).toEqual(["each", "ask"]);
  expect(failingTask(rows, undefined)?.name).toBe("ask");
  expect(failingTask(rows, "/do/0/each")?.name).toBe("each");
});

test("a retry begins with a task of the definition's own list", () => {
  expect(topTask("/do/0/a~1b/do/1/x")).toEqual({ reference: "/do/0/a~1b", name: "a/b" });
  expect(topTask("/use/functions/x/do/0/y")).toBeUndefined();
});

test("every pass of a long loop is found, whole, with few questions", async () => {
  const all: Entry[] = [];
  for (let pass = 0; pass < 10_000; pass++) {
    for (let step = 0; step < 1 + (pass % 3); step++) {
      all.push({ seq: all.length + 2, reference: `/do/0/each/do/${step}/s`, iterations: [pass] } as unknown as Entry);
    }
  }
  for (const pass of [0, 1, 2, 33, 4999, 5000, 9998, 9999]) {
    let asked = 0;
    const ask = async (after: number) => {
      asked++;
      return { data: all.filter((entry) => entry.seq > after).slice(0, 100), cursor: null };
    };
    const loop = { reference: "/do/0/each", first: 1, last: all.length + 1, passes: 10_000 };
    const found = await findPass(ask, loop, pass);
    expect(found.length, `runs of pass ${pass}`).toBe(1 + (pass % 3));
    expect(found.every((entry) => entry.iterations[0] === pass)).toBe(true);
    expect(asked, `questions for pass ${pass}`).toBeLessThanOrEqual(15);
  }
});
