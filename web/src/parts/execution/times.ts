import { useMemo } from "react";
import type { Entry } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { useNow } from "../clock.ts";
import type { Other } from "./compare.ts";
import type { TaskRow } from "./model.ts";
import { makeScale } from "./scale.ts";
import type { Span } from "./zoom.ts";

/**
 * The time of a whole execution and of one that it is compared with, when something ran in it, and the scale of a part
 * of it. `end` is that of the execution alone.
 */
export function useTimes(
  execution: Execution,
  rows: readonly TaskRow[],
  runs: ReadonlyMap<string, readonly Entry[]>,
  other: Other | undefined,
  collapse: boolean,
) {
  const now = useNow().getTime();
  const start = Date.parse(execution.started_at ?? execution.created_at);
  const end = execution.finished_at === undefined ? now : Date.parse(execution.finished_at);
  return useMemo(() => {
    const busy = [
      ...busyTimes(rows, runs, end, 0),
      ...(other ? busyTimes([...other.rows.values()], other.runs, other.end, other.shift) : []),
    ];
    const part = (span: Span) => makeScale(start + span.from, start + span.to, busy, collapse);
    const whole = makeScale(start, Math.max(end, other?.end ?? end), busy, collapse);
    return { end, busy, whole, part };
  }, [start, end, rows, runs, other, collapse]);
}

/** Only tasks that hold no others, and wait for nothing, count as work. */
const busyTimes = (
  rows: readonly TaskRow[],
  runs: ReadonlyMap<string, readonly Entry[]>,
  end: number,
  shift: number,
): [number, number][] =>
  rows
    .filter((row) => row.children === 0 && row.kind !== "wait" && row.kind !== "listen")
    .flatMap((row) =>
      (runs.get(row.reference) ?? []).map((run): [number, number] => {
        const from = Date.parse(run.started_at) + shift;
        const until = run.waiting_for ? from : end;
        return [from, run.finished_at === undefined ? until : Date.parse(run.finished_at) + shift];
      }),
    );
