import { useQueries } from "@tanstack/react-query";
import { passQuestion, runsQuestion, type Entry } from "../../api/detail.ts";
import { byReference, loopOf, type TaskRow } from "./model.ts";

/** Tasks that are asked for at once, and up to which task before any scrolling. */
const chunk = 50;
const eager = 300;

/** The runs that the timeline draws: of tasks outside of loops all, of those inside the runs of the chosen pass. */
export function useEntries(
  id: string,
  rows: readonly TaskRow[],
  seen: readonly TaskRow[],
  passes: ReadonlyMap<string, number>,
): { runs: Map<string, Entry[]>; error: unknown } {
  const outside = rows.filter((row) => !row.loop);
  const wanted = new Set(seen.map((row) => row.reference));
  const chunks: string[][] = [];
  for (let from = 0; from < outside.length; from += chunk) {
    const references = outside.slice(from, from + chunk).map((row) => row.reference);
    if (from < eager || references.some((reference) => wanted.has(reference))) {
      chunks.push(references);
    }
  }
  const loops = rows.filter((row) => passes.has(row.reference));
  return useQueries({
    queries: [
      ...chunks.map((reference) => runsQuestion(id, { reference })),
      ...loops.map((loop) => passQuestion(id, loopOf(loop, rows), passes.get(loop.reference) ?? 0)),
    ],
    combine: (answers) => ({
      runs: byReference(answers.flatMap((answer) => answer.data ?? [])),
      error: answers.find((answer) => answer.error)?.error,
    }),
  });
}
