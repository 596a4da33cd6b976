import type { Entry, Loop, Task } from "../../api/detail.ts";
import type { State } from "../state.ts";

/** A task of an execution as a row of its timeline: all runs of it, or those of the chosen pass of a loop. */
export interface TaskRow extends Task {
  depth: number;
  /** Place among all tasks, folded or not. */
  place: number;
  above: TaskRow | undefined;
  children: number;
  /** The outermost loop around it. */
  loop: TaskRow | undefined;
}

const ofPhase: Record<Task["phase"], State> = {
  pending: "queued",
  running: "running",
  waiting: "waiting",
  cancelled: "cancelled",
  faulted: "error",
  completed: "finished",
};

export const stateOfTask = (task: { phase: Task["phase"] }): State => ofPhase[task.phase];

/** How one run of a task is, which may wait for a person. */
export const stateOfRun = (run: Pick<Entry, "phase" | "waiting_for">): State =>
  run.phase === "waiting" && run.waiting_for?.kind === "person" ? "person" : stateOfTask(run);

/** How a task is whose runs are known. */
export const stateOfRuns = (task: { phase: Task["phase"] }, runs: readonly Entry[]): State =>
  task.phase === "waiting" && runs.some((run) => stateOfRun(run) === "person") ? "person" : stateOfTask(task);

export const countRuns = ({ counts }: Pick<Task, "counts">): number =>
  counts.running + counts.waiting + counts.completed + counts.faulted + counts.cancelled;

/** The tree of tasks, from their references: JSON pointers into the definition, in the order of the definition. */
export function taskRows(tasks: readonly Task[]): TaskRow[] {
  const open: TaskRow[] = [];
  return tasks.map((task, place) => {
    while (open.length > 0 && !task.reference.startsWith(`${open.at(-1)?.reference}/`)) {
      open.pop();
    }
    const above = open.at(-1);
    if (above) {
      above.children++;
    }
    const loop = above?.loop ?? (above && isLoop(above) ? above : undefined);
    const row: TaskRow = { ...task, depth: open.length, place, above, children: 0, loop };
    open.push(row);
    return row;
  });
}

/** A task whose list runs once for each item. */
export const isLoop = (row: Pick<Task, "kind">): boolean => row.kind === "for" || row.kind === "listen";

export type Show = "all" | "failed" | "active";

/** The rows that are seen: none in a folded task; of a choice, those that match, and what holds them. */
export function seenRows(rows: readonly TaskRow[], folded: ReadonlySet<string>, show: Show): TaskRow[] {
  const kept = new Set<string>();
  for (const row of rows) {
    const { counts } = row;
    if (show === "all" || (show === "failed" ? counts.faulted > 0 : counts.running + counts.waiting > 0)) {
      for (let at: TaskRow | undefined = row; at && !kept.has(at.reference); at = at.above) {
        kept.add(at.reference);
      }
    }
  }
  const hidden = new Set<string>();
  return rows.filter((row) => {
    if (row.above && (folded.has(row.above.reference) || hidden.has(row.above.reference))) {
      hidden.add(row.reference);
      return false;
    }
    return kept.has(row.reference);
  });
}

/** What is to be known of a loop to find a pass of it. */
export function loopOf(row: TaskRow, rows: readonly TaskRow[]): Loop {
  const inside = rows.filter((other) => other.loop === row);
  return {
    reference: row.reference,
    first: 1,
    last: Math.max(row.last_seq, ...inside.map((other) => other.last_seq)),
    passes: passesOf(row, rows),
  };
}

/** How many passes a loop has begun: the runs of the first task in it, which none leaves out that has no condition. */
export const passesOf = (loop: TaskRow, rows: readonly TaskRow[]): number =>
  Math.max(0, ...rows.filter((row) => row.above === loop).map(countRuns));

/** The task of the definition's own list that holds a task, from which a retry may begin. */
export function topTask(reference: string): { reference: string; name: string } | undefined {
  const found = /^\/do\/\d+\/[^/]+/.exec(reference)?.[0];
  return found === undefined ? undefined : { reference: found, name: nameIn(found) };
}

/** The name at the end of a JSON pointer. */
export const nameIn = (pointer: string): string =>
  (pointer.split("/").at(-1) ?? "").replaceAll("~1", "/").replaceAll("~0", "~");

/** The task that failed first of those that the error of an execution names, or of all. */
export function failingTask(rows: readonly TaskRow[], instance: string | undefined): TaskRow | undefined {
  const failed = rows.filter((row) => row.counts.faulted > 0);
  return failed.find((row) => row.reference === instance) ?? failed.find((row) => row.children === 0) ?? failed[0];
}

/** Runs by the reference of their task. */
export function byReference(entries: readonly Entry[]): Map<string, Entry[]> {
  const found = new Map<string, Entry[]>();
  for (const entry of entries) {
    const known = found.get(entry.reference);
    if (known) {
      known.push(entry);
    } else {
      found.set(entry.reference, [entry]);
    }
  }
  return found;
}
