import type { Entry } from "../../api/detail.ts";
import { executionTexts } from "../../messages/execution.ts";
import { formatDuration } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import type { Part } from "./attempts.ts";
import type { Other } from "./compare.ts";
import { stateOfRun, type TaskRow } from "./model.ts";
import type { Scale } from "./scale.ts";

const mostBars = 100;

/**
 * A bar for each run of a task that is in the part of the time that is shown, and a thin one below for each run of it in
 * another execution. Where none is, a sign says where they are.
 */
export function RowBars({
  row,
  runs,
  delays,
  scale,
  end,
  other,
}: {
  row: TaskRow;
  runs: readonly Entry[];
  delays: readonly Part[];
  scale: Scale;
  end: number;
  other: Other | undefined;
}) {
  const texts = executionTexts().timeline;
  const bars = barsOf(runs, end, 0);
  const inside = within(scale, bars);
  const none = bars.length > 0 && inside.length === 0;
  const pauses = within(
    scale,
    delays.map((delay) => ({ ...delay, to: delay.to ?? end })),
  );
  const theirs = other ? within(scale, barsOf(other.runs.get(row.reference) ?? [], other.end, other.shift)) : [];
  return (
    <span className="timeline-bars" data-compared={other !== undefined || undefined} aria-hidden>
      {scale.idle.map((idle) => (
        <span
          key={idle.from}
          className="idle"
          title={texts.idle(formatDuration(idle.to - idle.from))}
          style={between(scale, idle.from, idle.to)}
        />
      ))}
      {inside.slice(0, mostBars).map(({ run, from, to }) => (
        <span
          key={run.seq}
          className={`bar bar-${stateOfRun(run)}`}
          data-waited={(row.kind === "wait" && run.phase === "completed") || undefined}
          title={titleOf(row, run, to - from)}
          style={between(scale, from, to)}
        />
      ))}
      {pauses.slice(0, mostBars).map(({ attempt, from, to }) => (
        <span
          key={`delay-${from}`}
          className="delay"
          title={texts.delay(formatDuration(to - from), attempt)}
          style={besides(scale, from, to)}
        />
      ))}
      {theirs.slice(0, mostBars).map(({ run, from, to }) => (
        <span
          key={`other-${run.seq}`}
          className={`bar bar-other bar-${stateOfRun(run)}`}
          title={texts.ofOther(`${t().states[stateOfRun(run)]}, ${formatDuration(to - from)}`)}
          style={between(scale, from, to)}
        />
      ))}
      {none && bars.some(({ to }) => to < scale.from) && (
        <span className="beyond" title={texts.before}>
          ‹
        </span>
      )}
      {none && bars.some(({ from }) => from > scale.to) && (
        <span className="beyond beyond-after" title={texts.after}>
          ›
        </span>
      )}
    </span>
  );
}

interface Bar {
  run: Entry;
  from: number;
  to: number;
}

/** When runs were; what has not ended is drawn until an end. */
const barsOf = (runs: readonly Entry[], end: number, shift: number): Bar[] =>
  runs.map((run) => ({
    run,
    from: Date.parse(run.started_at) + shift,
    to: run.finished_at === undefined ? end : Date.parse(run.finished_at) + shift,
  }));

const within = <T extends { from: number; to: number }>(scale: Scale, bars: readonly T[]) =>
  bars.filter(({ from, to }) => to >= scale.from && from <= scale.to);

/** How a run was, and of a task that is tried more than once, in which attempt. */
function titleOf(row: TaskRow, run: Entry, length: number): string {
  const text = `${t().states[stateOfRun(run)]}, ${formatDuration(length)}`;
  return row.attempts > 1 ? `${executionTexts().inspector.attempt(run.attempt)}: ${text}` : text;
}

/** What ends with the last moment has a bar that can be seen, too. */
function between(scale: Scale, from: number, to: number) {
  const left = scale.place(from);
  return {
    left: `min(${left * 100}%, 100% - 3px)`,
    width: `${Math.max(0, scale.place(to) - left) * 100}%`,
  };
}

/** The same with room for the bars at both ends, which are that wide at least. */
function besides(scale: Scale, from: number, to: number) {
  const left = scale.place(from);
  return { left: `calc(${left * 100}% + 3px)`, width: `calc(${(scale.place(to) - left) * 100}% - 6px)` };
}
