import type { Entry } from "../../api/detail.ts";
import { groupBy } from "../../graph/model.ts";
import type { TaskRow } from "./model.ts";

/** A part of a run of a `try`: an attempt, or the delay before it. Without an end it has not ended. */
export interface Part {
  attempt: number;
  delay: boolean;
  from: number;
  to: number | undefined;
}

/**
 * The parts of runs of `try` tasks, by their seq, as far as the runs of the tasks in them tell: an attempt begins with
 * the first and ends with the last of them, and what is between two attempts is the delay. Where runs are left out, the
 * parts are not known.
 */
export function attemptsOf(
  rows: readonly TaskRow[],
  runs: ReadonlyMap<string, readonly Entry[]>,
  cut: readonly TaskRow[],
): Map<number, Part[]> {
  const found = new Map<number, Part[]>();
  for (const row of rows.filter(({ kind, children }) => kind === "try" && children > 0)) {
    const tried = rows.filter((other) => isTried(other, row));
    if (!tried.some((other) => cut.includes(other))) {
      const inside = groupBy(
        tried.flatMap((other) => runs.get(other.reference) ?? []),
        (run) => run.parent_seq,
      );
      for (const run of runs.get(row.reference) ?? []) {
        const parts = partsOf(run, inside.get(run.seq) ?? []);
        if (parts.length > 1) {
          found.set(run.seq, parts);
        }
      }
    }
  }
  return found;
}

/** A task is in the list that a `try` guards, and not in what handles its errors. */
export const isTried = (row: TaskRow, of: TaskRow): boolean =>
  row.above === of && row.reference.startsWith(`${of.reference}/try/`);

function partsOf(run: Entry, inside: readonly Entry[]): Part[] {
  const parts: Part[] = [];
  const byAttempt = [...groupBy(inside, ({ attempt }) => attempt)].toSorted(([a], [b]) => a - b);
  for (const [attempt, entries] of byAttempt) {
    const from = Math.min(...entries.map((entry) => Date.parse(entry.started_at)));
    const ends = entries.map((entry) => (entry.finished_at === undefined ? Infinity : Date.parse(entry.finished_at)));
    const to = Math.max(...ends);
    const last = parts.at(-1);
    if (last?.to !== undefined && last.attempt === attempt - 1 && from > last.to) {
      parts.push({ attempt, delay: true, from: last.to, to: from });
    }
    parts.push({ attempt, delay: false, from, to: to === Infinity ? undefined : to });
  }
  const last = parts.at(-1);
  if (last?.to !== undefined && run.waiting_for?.kind === "retry" && run.finished_at === undefined) {
    parts.push({ attempt: last.attempt + 1, delay: true, from: last.to, to: undefined });
  }
  return parts;
}
