import type { Batch } from "../api/batches.ts";
import { formatDuration, formatNumber } from "../messages/format.ts";
import { batchesTexts } from "../messages/batches.ts";
import { StateIcon } from "./icons.tsx";
import type { State } from "./state.ts";

/** How many items of a batch are in each state, in the order of the bar. Cancelled ones are no errors here. */
export function countsOf(batch: Batch): { state: State; count: number }[] {
  return [
    { state: "finished", count: batch.completed },
    { state: "error", count: batch.failed - batch.cancelled },
    { state: "cancelled", count: batch.cancelled },
    { state: "running", count: batch.running },
    { state: "waiting", count: batch.waiting },
    { state: "queued", count: batch.queued },
  ];
}

const stateOfBatch: Record<Batch["phase"], State> = {
  pending: "queued",
  running: "running",
  completed: "finished",
  failed: "error",
  cancelled: "cancelled",
};

/** Where the parts of the bar begin, of 100. What is there at all can be seen. */
function segments(batch: Batch): { state: State; at: number; width: number }[] {
  const parts = countsOf(batch).filter(({ state, count }) => count > 0 && state !== "queued");
  let end = 0;
  return parts.map(({ state, count }) => {
    const at = end;
    const width = Math.max(0.5, (count / Math.max(1, batch.total)) * 100);
    end += width;
    return { state, at, width };
  });
}

/** The bar of a batch: what has ended, and how. */
export function Progress({ batch, large = false }: { batch: Batch; large?: boolean }) {
  const done = batch.completed + batch.failed;
  return (
    <span
      className={large ? "progress progress-large" : "progress"}
      role="progressbar"
      aria-label={batchesTexts().progress}
      aria-valuemin={0}
      aria-valuemax={batch.total}
      aria-valuenow={done}
      aria-valuetext={batchesTexts().of(done, batch.total)}
    >
      <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden>
        {segments(batch).map(({ state, at, width }) => (
          <rect key={state} className={`fill-${state}`} x={at} width={width} y={0} height={1} />
        ))}
      </svg>
    </span>
  );
}

/** How much of a batch is done, and how long it takes. */
export function ProgressText({ batch }: { batch: Batch }) {
  const done = batch.completed + batch.failed;
  const percent = batch.total === 0 ? 100 : Math.floor((done / batch.total) * 100);
  return (
    <span className="number">
      {formatNumber(percent)} %{batch.eta_ms !== undefined && ` · ${batchesTexts().left(formatDuration(batch.eta_ms))}`}
    </span>
  );
}

/** How a batch is, in the words of batches. */
export function StateOfBatch({ batch }: { batch: Batch }) {
  const state = stateOfBatch[batch.phase];
  return (
    <span className={`state state-${state}`}>
      <StateIcon state={state} />
      {batchesTexts().phases[batch.phase]}
    </span>
  );
}
