import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { Entry } from "../../api/detail.ts";
import { executionTexts } from "../../messages/execution.ts";
import { rowHeight } from "../density.ts";
import { isTried, type Part } from "./attempts.ts";
import type { Other } from "./compare.ts";
import type { TaskRow } from "./model.ts";
import type { Scale } from "./scale.ts";
import { TimelineRow } from "./TimelineRow.tsx";

interface Props {
  seen: readonly TaskRow[];
  runs: ReadonlyMap<string, readonly Entry[]>;
  attempts: ReadonlyMap<number, readonly Part[]>;
  scale: Scale;
  /** Until when what has not ended is drawn. */
  end: number;
  /** What it is compared with. */
  other: Other | undefined;
  folded: ReadonlySet<string>;
  selected: TaskRow | undefined;
  select: (row: TaskRow) => void;
  close: () => void;
  fold: (reference: string, closed: boolean) => void;
  /** So many times as much time as before, or all of it. */
  zoom: (factor: number | "whole") => void;
}

/** Keys that zoom; = is + without Shift. */
const zooms: Record<string, number | "whole"> = { "+": 0.5, "=": 0.5, "-": 2, "0": "whole" };

/** The rows of a timeline, of which only those in sight are in the page. Keys belong to it as a whole. */
export function TimelineTree({
  seen,
  runs,
  attempts,
  scale,
  end,
  other,
  folded,
  selected,
  select,
  close,
  fold,
  zoom,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const found = seen.findIndex((row) => row === selected);
  const [moved, setMoved] = useState<string>();
  const at = Math.max(0, moved === undefined ? found : seen.findIndex((row) => row.reference === moved));
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: seen.length,
    getScrollElement: () => box.current,
    estimateSize: rowHeight,
    overscan: 8,
  });
  useEffect(() => {
    if (found >= 0) {
      virtual.scrollToIndex(found);
    }
    // Only when another task is selected: the rows do not move by themselves.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [selected?.reference]);
  const press = (event: KeyboardEvent) => {
    const row = seen[at];
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: seen.length - 1 }[event.key];
    if (to !== undefined) {
      const next = Math.min(seen.length - 1, Math.max(0, to));
      setMoved(seen[next]?.reference);
      virtual.scrollToIndex(next);
    } else if (event.key === "Enter" && row) {
      select(row);
    } else if (event.key === "Escape") {
      close();
    } else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && row) {
      fold(row.reference, event.key === "ArrowLeft" && row.children > 0);
    } else if (event.key in zooms && !event.ctrlKey && !event.metaKey && !event.altKey) {
      zoom(zooms[event.key] ?? "whole");
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      className="timeline"
      role="tree"
      aria-label={executionTexts().timeline.name}
      aria-activedescendant={`task-${seen[at]?.place}`}
      tabIndex={0}
      onKeyDown={press}
    >
      <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const row = seen[item.index];
          return (
            row && (
              <TimelineRow
                key={row.reference}
                row={row}
                top={item.start}
                runs={runs.get(row.reference) ?? []}
                delays={delaysOf(row, runs, attempts)}
                scale={scale}
                end={end}
                other={other}
                closed={folded.has(row.reference)}
                selected={row === selected}
                active={item.index === at}
                position={item.index + 1}
                length={seen.length}
                select={() => {
                  setMoved(row.reference);
                  select(row);
                }}
                fold={() => fold(row.reference, !folded.has(row.reference))}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

/** Delays before other attempts that are drawn in the row of a task: in that of the `try`, and in those that it tries. */
function delaysOf(
  row: TaskRow,
  runs: ReadonlyMap<string, readonly Entry[]>,
  attempts: ReadonlyMap<number, readonly Part[]>,
): Part[] {
  const guard = row.kind === "try" ? row : row.above;
  if (attempts.size === 0 || !guard || (guard !== row && !isTried(row, guard))) {
    return [];
  }
  const parts = (runs.get(guard.reference) ?? []).flatMap((run) => attempts.get(run.seq) ?? []);
  return parts.filter(({ delay }) => delay);
}
