import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { passQuestion, runsQuestion, type Entry, type Found } from "../../api/detail.ts";
import { byReference, loopOf, type TaskRow } from "./model.ts";

/** Tasks that are asked for at once, and up to which task before any scrolling. */
const chunk = 50;
const eager = 300;

/**
 * The runs that the timeline draws: of tasks outside of loops all, of those inside the runs of the chosen pass. Where
 * there are too many, the first ones of the tasks that are cut, and the newest ones of the selected task.
 */
export function useEntries(
  id: string,
  rows: readonly TaskRow[],
  seen: readonly TaskRow[],
  passes: ReadonlyMap<string, number>,
  selected: TaskRow | undefined,
): { runs: Map<string, Entry[]>; cut: readonly TaskRow[]; error: unknown } {
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
  const found = useQueries({
    queries: chunks.map((reference) => runsQuestion(id, { reference })),
    combine: (answers) => ({
      all: answers.map((answer) => answer.data),
      error: answers.find((answer) => answer.error)?.error,
    }),
  });
  const inside = useQueries({
    queries: loops.map((loop) => passQuestion(id, loopOf(loop, rows), passes.get(loop.reference) ?? 0)),
    combine: (answers) => ({
      runs: answers.flatMap((answer) => answer.data ?? []),
      error: answers.find((answer) => answer.error)?.error,
    }),
  });
  const cut = outside.filter((_, place) => found.all[Math.floor(place / chunk)]?.more);
  const newest = useNewest(id, selected && cut.includes(selected) ? selected : undefined);
  const runs = useMemo(() => {
    const known = byReference([...found.all.flatMap((answer) => answer?.runs ?? []), ...inside.runs]);
    if (newest.data && selected) {
      known.set(selected.reference, newest.data);
    }
    return known;
  }, [found, inside, newest.data, selected]);
  return { runs, cut, error: found.error ?? inside.error ?? newest.error };
}

/** The newest runs of one task, in their order. */
export function useNewest(id: string, task: TaskRow | undefined): { data: Entry[] | undefined; error: unknown } {
  const asked = useQuery({
    ...runsQuestion(id, { reference: [task?.reference ?? ""], order: "desc" }, 1),
    enabled: task !== undefined,
    select: inOrder,
  });
  return { data: task && asked.data, error: asked.error };
}

const inOrder = ({ runs }: Found) => runs.toReversed();
