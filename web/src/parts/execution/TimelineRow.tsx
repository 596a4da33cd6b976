import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { Entry } from "../../api/detail.ts";
import { executionTexts } from "../../messages/execution.ts";
import { formatDuration } from "../../messages/format.ts";
import { StateMark } from "../StateMark.tsx";
import type { Part } from "./attempts.ts";
import { tookBoth, type Other } from "./compare.ts";
import { countRuns, stateOfRuns, type TaskRow } from "./model.ts";
import { RowBars } from "./RowBars.tsx";
import type { Scale } from "./scale.ts";

/** A task: its name in the tree, its state, and a bar for each run. */
export function TimelineRow({
  row,
  top,
  runs,
  delays,
  scale,
  end,
  other,
  closed,
  selected,
  active,
  position,
  length,
  select,
  fold,
}: {
  row: TaskRow;
  top: number;
  runs: readonly Entry[];
  delays: readonly Part[];
  scale: Scale;
  end: number;
  other: Other | undefined;
  closed: boolean;
  selected: boolean;
  active: boolean;
  position: number;
  length: number;
  select: () => void;
  fold: () => void;
}) {
  const texts = executionTexts().timeline;
  const count = countRuns(row);
  const both = other && tookBoth(row, runs, other);
  const notes = [
    other && !other.rows.has(row.reference) ? texts.onlyHere : "",
    both ? texts.took(formatDuration(both.here), formatDuration(both.there)) : "",
    count > 1 ? texts.runs(count) : "",
    count > 1 && row.counts.faulted > 0 ? texts.failedRuns(row.counts.faulted) : "",
    row.attempts > 1 ? texts.attempts(row.attempts) : "",
  ].filter(Boolean);
  const Chevron = closed ? IconChevronRight : IconChevronDown;
  return (
    // Keys are those of the tree, which has the focus.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      id={`task-${row.place}`}
      className="timeline-row"
      role="treeitem"
      aria-level={row.depth + 1}
      aria-posinset={position}
      aria-setsize={length}
      aria-selected={selected}
      {...(row.children > 0 && { "aria-expanded": !closed })}
      data-active={active || undefined}
      style={{ transform: `translateY(${top}px)` }}
      onClick={select}
    >
      <span className="timeline-name" style={{ paddingLeft: row.depth * 16 }}>
        {row.children > 0 ? (
          <span
            className="fold"
            aria-hidden
            onClick={(event) => {
              event.stopPropagation();
              fold();
            }}
          >
            <Chevron aria-hidden size={14} />
          </span>
        ) : (
          <span className="fold" />
        )}
        <span className="timeline-text" title={row.reference}>
          {row.name} <span className="meta">{row.kind}</span>
        </span>
      </span>
      <span className="timeline-state">
        <StateMark state={stateOfRuns(row, runs)} /> <span className="meta">{notes.join(" · ")}</span>
      </span>
      <RowBars row={row} runs={runs} delays={delays} scale={scale} end={end} other={other} />
    </div>
  );
}
