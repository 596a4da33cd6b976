import type { Entry } from "../../api/detail.ts";
import { countRuns, passesOf, type TaskRow } from "./model.ts";

/** Another execution, which the timeline draws beside its own, each from its start. */
export interface Other {
  rows: ReadonlyMap<string, TaskRow>;
  /** What is drawn of it, by reference: of tasks in a loop the runs of the pass with the same number. */
  runs: ReadonlyMap<string, readonly Entry[]>;
  /** Milliseconds to add to its times, so that it begins where this one does. */
  shift: number;
  /** Where it ends then, or what has not ended is drawn to. */
  end: number;
}

/** The passes of another execution's loops that have the numbers of those shown here, by the reference of the loop. */
export function samePasses(others: readonly TaskRow[], passes: ReadonlyMap<string, number>): Map<string, number> {
  const found = new Map<string, number>();
  for (const row of others) {
    const pass = passes.get(row.reference);
    if (pass !== undefined && pass < passesOf(row, others)) {
      found.set(row.reference, pass);
    }
  }
  return found;
}

/** The tasks of some rows that others do not have: of a task that is not there, none of those in it. */
export function missing(rows: readonly TaskRow[], others: readonly TaskRow[]): TaskRow[] {
  const there = new Set(others.map((row) => row.reference));
  return rows.filter((row) => !there.has(row.reference) && (!row.above || there.has(row.above.reference)));
}

/** How long a task took here and there, where it ran once in each and has ended. */
export function tookBoth(
  row: TaskRow,
  runs: readonly Entry[],
  other: Other,
): { here: number; there: number } | undefined {
  const theirs = other.rows.get(row.reference);
  const [here, there] = [took(runs), took(other.runs.get(row.reference) ?? [])];
  return theirs && countRuns(row) === 1 && countRuns(theirs) === 1 && here !== undefined && there !== undefined
    ? { here, there }
    : undefined;
}

const took = ([run, more]: readonly Entry[]) =>
  run?.finished_at === undefined || more ? undefined : Date.parse(run.finished_at) - Date.parse(run.started_at);
