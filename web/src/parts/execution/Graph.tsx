import { useMediaQuery } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { graphQuestion, progressQuestion, type Graph as Data } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { closedAtFirst, indexOf } from "../../graph/model.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";
import type { Address, Go } from "./address.ts";
import { useNewest } from "./entries.ts";
import { Inspector } from "./Inspector.tsx";
import { failingTask, taskRows, type TaskRow } from "./model.ts";
import { later } from "../later.tsx";

const GraphView = later(() => import("./GraphView.tsx"));

/** The tasks of an execution and how they follow each other, as a picture or as an outline. */
export default function Graph({ execution, address, go }: { execution: Execution; address: Address; go: Go }) {
  const graph = useQuery(graphQuestion(execution.id));
  const progress = useQuery(progressQuestion(execution.id));
  const rows = useMemo(() => taskRows(progress.data?.data ?? []), [progress.data]);
  const failed = [graph, progress].find((asked) => asked.error);
  const failure = failed && <Failure error={failed.error} retry={() => void failed.refetch()} />;
  if (!graph.data || !progress.data) {
    return failure ?? <Waiting />;
  }
  return (
    <>
      {failure}
      <Loaded execution={execution} graph={graph.data} rows={rows} address={address} go={go} />
    </>
  );
}

interface Props {
  execution: Execution;
  graph: Data;
  rows: readonly TaskRow[];
  address: Address;
  go: Go;
}

function Loaded({ execution, graph, rows, address, go }: Props) {
  const texts = executionTexts().graph;
  const index = useMemo(() => indexOf(graph), [graph]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(() => closedAtFirst(index));
  const byReference = useMemo(() => new Map(rows.map((row) => [row.reference, row])), [rows]);
  const narrow = useMediaQuery("(max-width: 600px)", undefined, { getInitialValueInEffect: false });
  const view = address.view ?? (narrow ? "outline" : "picture");
  const failing = execution.error ? failingTask(rows, execution.error.instance)?.reference : undefined;
  const selected = index.nodes.get(address.task ?? failing ?? "");
  const row = selected && byReference.get(selected.id);
  const newest = useNewest(execution.id, row);
  const close = () => go({ task: "/", seq: undefined });
  return (
    <div className="timeline-page" data-inspected={row !== undefined || undefined}>
      <div className="timeline-main">
        {newest.error !== null && <Failure error={newest.error} />}
        <GraphView
          view={view}
          change={(name) => go({ view: name })}
          index={index}
          rows={byReference}
          closed={closed}
          selected={selected?.id}
          select={(id) => go({ task: id, seq: undefined })}
          fold={(id) =>
            setClosed(new Set(closed.has(id) ? [...closed].filter((other) => other !== id) : [...closed, id]))
          }
        />
        {selected && !row && <p role="status">{texts.unreached(selected.name)}</p>}
        <p className="meta">{view === "outline" ? executionTexts().timeline.keys : texts.keys}</p>
      </div>
      {row && (
        <Inspector
          key={row.reference}
          execution={execution}
          task={row}
          runs={newest.data ?? []}
          seq={address.seq === undefined ? undefined : Number(address.seq)}
          choose={(seq) => go({ task: row.reference, seq: String(seq) })}
          close={close}
        />
      )}
    </div>
  );
}
