import { hundredOf, runsAfterQuestion, type Entry, type LogLine } from "../../api/detail.ts";
import { queries } from "../../api/query.ts";
import { executionTexts } from "../../messages/execution.ts";
import { formatNumber } from "../../messages/format.ts";
import { plainLine } from "./ansi.ts";

/** What a run is called among others: its task, its pass of the loops around it, and which attempt it is. */
export function runName({ name, iterations, attempt }: Pick<Entry, "name" | "iterations" | "attempt">): string {
  const texts = executionTexts().events;
  return [
    name,
    ...(iterations.length > 0 ? [texts.pass(iterations.map((n) => formatNumber(n + 1)).join("."))] : []),
    ...(attempt > 1 ? [texts.attempt(attempt)] : []),
  ].join(" · ");
}

/** Pages of the timeline that are asked for names at most: as many as a timeline keeps. */
const mostPages = 100;

/** Reads the hundred runs that began after one. */
export type RunsAfter = (after: number) => Promise<readonly Entry[]>;

/**
 * The names of the runs that have written lines, by their number. Each hundred of runs is asked for once, one at a
 * time; a run that the timeline has dropped, or that is beyond the most pages, has no name.
 */
export async function namesOf(lines: readonly LogLine[], runsAfter: RunsAfter): Promise<Map<number, string>> {
  const names = new Map<number, string>();
  const asked = new Set<number>();
  const seqs = [...new Set(lines.flatMap(({ seq }) => (seq === null ? [] : [seq])))].toSorted((a, b) => a - b);
  for (const seq of seqs) {
    // The hundred may be known from when the run had not begun yet: then it is asked for by itself.
    for (const after of [hundredOf(seq), seq - 1]) {
      if (names.has(seq) || asked.has(after) || asked.size === mostPages) {
        continue;
      }
      asked.add(after);
      // oxlint-disable-next-line no-await-in-loop
      for (const run of await runsAfter(after)) {
        names.set(run.seq, runName(run));
      }
    }
  }
  return names;
}

/** Asks for runs as the lines of a log do that are seen. */
export const runsOf =
  (id: string): RunsAfter =>
  (after) =>
    queries.fetchQuery(runsAfterQuestion(id, after));

/** What would begin a line of its own, or hide what stands before it. */
const breaks = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu;

/** Lines as a file has them, each with the task that has written it. */
export const textOf = (lines: readonly LogLine[], names: ReadonlyMap<number, string>): string =>
  lines
    .map(({ at, level, seq, text }) => {
      const name = seq === null ? undefined : names.get(seq);
      const task = name === undefined ? "" : ` [${plainLine(name).replace(breaks, " ")}]`;
      return `${at} ${level}${task} ${plainLine(text)}\n`;
    })
    .join("");
