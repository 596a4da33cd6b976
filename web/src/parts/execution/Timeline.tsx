import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { progressQuestion, type Entry } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { executionTexts } from "../../messages/execution.ts";
import { useNow } from "../clock.ts";
import { Empty, Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Address, Go } from "./address.ts";
import { useEntries } from "./entries.ts";
import { Inspector } from "./Inspector.tsx";
import { failingTask, passesOf, seenRows, taskRows, type Show, type TaskRow } from "./model.ts";
import { PassPicker } from "./PassPicker.tsx";
import { rowHeight } from "../density.ts";
import { makeScale } from "./scale.ts";
import { TimelineRow } from "./TimelineRow.tsx";

/** The tasks of an execution as a tree with bars over time. A loop is one row, and shows one pass of it. */
export function Timeline({ execution, address, go }: { execution: Execution; address: Address; go: Go }) {
  const progress = useQuery(progressQuestion(execution.id));
  const rows = useMemo(() => taskRows(progress.data?.data ?? []), [progress.data]);
  if (progress.isLoadingError) {
    return <Failure error={progress.error} retry={() => void progress.refetch()} />;
  }
  if (!progress.data) {
    return <Waiting />;
  }
  if (rows.length === 0) {
    return <Empty text={executionTexts().timeline.empty} />;
  }
  return (
    <>
      {progress.error && <Failure error={progress.error} retry={() => void progress.refetch()} />}
      {progress.data.truncated && <p className="complaint">{executionTexts().timeline.truncated}</p>}
      <Loaded execution={execution} rows={rows} address={address} go={go} />
    </>
  );
}

interface Props {
  execution: Execution;
  rows: readonly TaskRow[];
  address: Address;
  go: Go;
}

function Loaded({ execution, rows, address, go }: Props) {
  const texts = executionTexts().timeline;
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [collapse, setCollapse] = useState(true);
  const show: Show = address.show ?? "all";
  const seen = useMemo(() => seenRows(rows, folded, show), [rows, folded, show]);
  const failing = execution.error ? failingTask(rows, execution.error.instance) : undefined;
  const selected = rows.find((row) => row.reference === address.task) ?? (address.task === "/" ? undefined : failing);
  const passes = usePasses(rows, selected, address);
  const { runs, cut, error } = useEntries(execution.id, rows, seen, passes, selected);
  const scale = useScale(execution, rows, runs, collapse);
  const select = (row: TaskRow) => go({ task: row.reference, seq: undefined });
  return (
    <div className="timeline-page" data-inspected={selected !== undefined || undefined}>
      <div className="timeline-main">
        <div className="filters">
          <NativeSelect
            label={texts.show}
            value={show}
            onChange={(event) => {
              const next = event.currentTarget.value;
              go({ show: next === "failed" || next === "active" ? next : undefined });
            }}
            data={[
              { value: "all", label: texts.all },
              { value: "failed", label: texts.failed },
              { value: "active", label: texts.active },
            ]}
          />
          <label className="check">
            <input type="checkbox" checked={collapse} onChange={(event) => setCollapse(event.currentTarget.checked)} />
            {texts.collapse}
          </label>
        </div>
        {error !== undefined && error !== null && <Failure error={error} />}
        {cut.length > 0 && <p className="complaint">{texts.cut(cut.map((row) => row.name))}</p>}
        {rows
          .filter((row) => passes.has(row.reference))
          .map((row) => (
            <PassPicker
              key={row.reference}
              execution={execution.id}
              loop={row}
              passes={passesOf(row, rows)}
              pass={passes.get(row.reference) ?? 0}
              pick={(pass) => go({ task: row.reference, seq: undefined, pass: String(pass) })}
            />
          ))}
        {seen.length === 0 ? (
          <Empty text={texts.emptyFiltered}>
            <Button variant="default" onClick={() => go({ show: undefined })}>
              {texts.everything}
            </Button>
          </Empty>
        ) : (
          <Rows
            seen={seen}
            runs={runs}
            scale={scale}
            folded={folded}
            selected={selected}
            select={select}
            close={() => go({ task: "/", seq: undefined })}
            fold={(reference, closed) => {
              const next = new Set(folded);
              if (closed) {
                next.add(reference);
              } else {
                next.delete(reference);
              }
              setFolded(next);
            }}
          />
        )}
        <p className="meta">{texts.keys}</p>
      </div>
      {selected && (
        <Inspector
          key={selected.reference}
          execution={execution}
          task={selected}
          runs={runs.get(selected.reference) ?? []}
          seq={address.seq === undefined ? undefined : Number(address.seq)}
          choose={(seq) => go({ task: selected.reference, seq: String(seq) })}
          close={() => go({ task: "/", seq: undefined })}
        />
      )}
    </div>
  );
}

/** Which pass of each loop is shown: that of the address for its loop, else the newest. Loops in loops follow theirs. */
function usePasses(rows: readonly TaskRow[], selected: TaskRow | undefined, address: Address): Map<string, number> {
  return useMemo(() => {
    const passes = new Map<string, number>();
    for (const row of rows) {
      const count = row.loop ? 0 : passesOf(row, rows);
      if (count > 0 && (row.kind === "for" || row.kind === "listen")) {
        const own = selected && (selected === row || selected.loop === row) ? address.pass : undefined;
        passes.set(row.reference, Math.min(own === undefined ? count - 1 : Number(own), count - 1));
      }
    }
    return passes;
  }, [rows, selected, address.pass]);
}

/** The axis: of the whole execution. Only tasks that hold no others, and wait for nothing, count as work. */
function useScale(
  execution: Execution,
  rows: readonly TaskRow[],
  runs: ReadonlyMap<string, readonly Entry[]>,
  collapse: boolean,
) {
  const now = useNow().getTime();
  const end = execution.finished_at === undefined ? now : Date.parse(execution.finished_at);
  return useMemo(() => {
    const busy: [number, number][] = [];
    for (const row of rows) {
      if (row.children === 0 && row.kind !== "wait" && row.kind !== "listen") {
        for (const run of runs.get(row.reference) ?? []) {
          const from = Date.parse(run.started_at);
          busy.push([
            from,
            run.finished_at === undefined ? (run.waiting_for ? from : end) : Date.parse(run.finished_at),
          ]);
        }
      }
    }
    return makeScale(Date.parse(execution.started_at ?? execution.created_at), end, busy, collapse && busy.length > 0);
  }, [execution.started_at, execution.created_at, rows, runs, end, collapse]);
}

interface RowsProps {
  seen: readonly TaskRow[];
  runs: ReadonlyMap<string, readonly Entry[]>;
  scale: ReturnType<typeof makeScale>;
  folded: ReadonlySet<string>;
  selected: TaskRow | undefined;
  select: (row: TaskRow) => void;
  close: () => void;
  fold: (reference: string, closed: boolean) => void;
}

function Rows({ seen, runs, scale, folded, selected, select, close, fold }: RowsProps) {
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
                scale={scale}
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
