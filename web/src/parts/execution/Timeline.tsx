import { Button, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Suspense, useMemo, useState } from "react";
import { progressQuestion } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Empty, Failure } from "../Notice.tsx";
import { later } from "../later.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Address, Go } from "./address.ts";
import { attemptsOf } from "./attempts.ts";
import { Axis } from "./Axis.tsx";
import { Brush } from "./Brush.tsx";
import type { Other } from "./compare.ts";
import { CompareToggle } from "./CompareToggle.tsx";
import { useEntries } from "./entries.ts";
import { Inspector } from "./Inspector.tsx";
import { failingTask, passesOf, seenRows, taskRows, type Show, type TaskRow } from "./model.ts";
import { PassPicker } from "./PassPicker.tsx";
import { TimelineTree } from "./TimelineTree.tsx";
import { useTimes } from "./times.ts";
import { useZoom } from "./useZoom.ts";
import { zoomBy } from "./zoom.ts";

const Compared = later(() => import("./Compared.tsx"));

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
  const show: Show = address.show ?? "all";
  const seen = useMemo(() => seenRows(rows, folded, show), [rows, folded, show]);
  const failing = execution.error ? failingTask(rows, execution.error.instance) : undefined;
  const selected = rows.find((row) => row.reference === address.task) ?? (address.task === "/" ? undefined : failing);
  const passes = usePasses(rows, selected, address);
  const { runs, cut, error } = useEntries(execution.id, rows, seen, passes, selected);
  const attempts = useMemo(() => attemptsOf(rows, runs, cut), [rows, runs, cut]);
  const [other, setOther] = useState<Other>();
  const compared = address.with === execution.id ? undefined : address.with;
  const { end, whole, busy, part } = useTimes(execution, rows, runs, other, address.idle !== "even");
  const zooming = useZoom(address, go, whole.to - whole.from);
  const { from, to } = zooming.span;
  const scale = useMemo(() => part({ from, to }), [part, from, to]);
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
            <input
              type="checkbox"
              checked={address.idle !== "even"}
              onChange={(event) => go({ idle: event.currentTarget.checked ? undefined : "even" })}
            />
            {texts.collapse}
          </label>
          <CompareToggle execution={execution} compared={compared !== undefined} go={go} />
        </div>
        {compared !== undefined && (
          <Suspense fallback={<Waiting />}>
            <Compared
              key={compared}
              execution={execution}
              id={compared}
              rows={rows}
              seen={seen}
              passes={passes}
              report={setOther}
            />
          </Suspense>
        )}
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
          <>
            {whole.to - whole.from > 1 && (
              <>
                <Brush scale={whole} busy={busy} zooming={zooming} />
                <Axis scale={scale} start={whole.from} zoom={zooming.keep} />
              </>
            )}
            <TimelineTree
              seen={seen}
              runs={runs}
              attempts={attempts}
              scale={scale}
              end={end}
              other={other}
              folded={folded}
              selected={selected}
              select={select}
              close={() => go({ task: "/", seq: undefined })}
              zoom={(factor) =>
                zooming.keep(
                  factor === "whole" ? { from: 0, to: whole.to - whole.from } : zoomBy(whole, zooming.span, factor),
                )
              }
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
          </>
        )}
        <p className="meta">{texts.keys}</p>
      </div>
      {selected && (
        <Inspector
          key={selected.reference}
          execution={execution}
          task={selected}
          runs={runs.get(selected.reference) ?? []}
          attempts={attempts}
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
