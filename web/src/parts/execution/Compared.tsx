import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { progressQuestion } from "../../api/detail.ts";
import { executionQuestion, type Execution } from "../../api/executions.ts";
import { compareTexts } from "../../messages/compare.ts";
import { formatDuration } from "../../messages/format.ts";
import { useNow } from "../clock.ts";
import { shortId } from "../Copy.tsx";
import { Failure } from "../Notice.tsx";
import { stateOf } from "../state.ts";
import { StateMark } from "../StateMark.tsx";
import { Waiting } from "../Waiting.tsx";
import { missing, samePasses, type Other } from "./compare.ts";
import { useEntries } from "./entries.ts";
import { passesOf, taskRows, type TaskRow } from "./model.ts";

interface Props {
  execution: Execution;
  /** The one that it is compared with. */
  id: string;
  /** Rows of the timeline, those of them that are seen, and which pass of each loop is shown. */
  rows: readonly TaskRow[];
  seen: readonly TaskRow[];
  passes: ReadonlyMap<string, number>;
  report: (other: Other | undefined) => void;
}

/** Says in words how another execution differs, and reports what the timeline draws of it. */
export default function Compared(props: Props) {
  const { id, report } = props;
  const asked = useQuery(executionQuestion(id));
  const progress = useQuery(progressQuestion(id));
  useEffect(() => () => report(undefined), [report]);
  const failed = asked.isLoadingError ? asked : progress.isLoadingError ? progress : undefined;
  if (failed) {
    return <Failure error={failed.error} retry={() => void failed.refetch()} />;
  }
  if (!asked.data || !progress.data) {
    return <Waiting />;
  }
  return <Known {...props} other={asked.data} tasks={progress.data.data} />;
}

function Known({
  execution,
  id,
  rows,
  seen,
  passes,
  report,
  other,
  tasks,
}: Props & { other: Execution; tasks: Parameters<typeof taskRows>[0] }) {
  const texts = compareTexts();
  const others = useMemo(() => taskRows(tasks), [tasks]);
  const theirPasses = useMemo(() => samePasses(others, passes), [others, passes]);
  const theirSeen = useMemo(() => {
    const wanted = new Set(seen.map((row) => row.reference));
    return others.filter((row) => wanted.has(row.reference));
  }, [others, seen]);
  const { runs, cut, error } = useEntries(id, others, theirSeen, theirPasses, undefined);
  const now = useNow().getTime();
  const [start, length] = time(other, now);
  const [ownStart, ownLength] = time(execution, now);
  useEffect(() => {
    const byReference = new Map(others.map((row) => [row.reference, row]));
    report({ rows: byReference, runs, shift: ownStart - start, end: ownStart + length });
  }, [report, others, runs, ownStart, start, length]);
  const [onlyHere, onlyThere] = [names(missing(rows, others)), names(missing(others, rows))];
  const fewer = rows.filter((row) => passes.has(row.reference) && !theirPasses.has(row.reference));
  return (
    <div className="compared" role="region" aria-label={texts.name}>
      <p className="row">
        <span>
          {texts.with}{" "}
          <Link to="/executions/$id" params={{ id }} search={{}}>
            <code>{shortId(id)}</code>
          </Link>
        </span>
        <StateMark state={stateOf(other)} />
        <span>{texts.took(formatDuration(length), formatDuration(ownLength))}</span>
      </p>
      {other.workflow_id !== execution.workflow_id && <p>{texts.ofAnother(other.workflow)}</p>}
      {error !== undefined && error !== null && <Failure error={error} />}
      {onlyHere.length > 0 && <p>{texts.onlyHere(onlyHere)}</p>}
      {onlyThere.length > 0 && <p>{texts.onlyThere(onlyThere)}</p>}
      {fewer
        .flatMap((row) => others.filter(({ reference }) => reference === row.reference))
        .map((row) => (
          <p key={row.reference}>{texts.fewer(row.name, passesOf(row, others))}</p>
        ))}
      {cut.length > 0 && <p>{texts.cut(names(cut))}</p>}
    </div>
  );
}

const names = (rows: readonly TaskRow[]) => rows.map((row) => row.name);

/** When an execution began, and how long it took, or takes by now. */
function time({ started_at: started, created_at: created, finished_at: finished }: Execution, now: number) {
  const start = Date.parse(started ?? created);
  return [start, Math.max(0, (finished === undefined ? now : Date.parse(finished)) - start)] as const;
}
