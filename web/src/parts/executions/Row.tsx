import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Execution } from "../../api/executions.ts";
import { useMay } from "../../api/me.ts";
import { formatRelative } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { useNow } from "../clock.ts";
import { Copy, shortId } from "../Copy.tsx";
import { Labels } from "../Labels.tsx";
import { stateOf } from "../state.ts";
import { StateMark } from "../StateMark.tsx";
import { Took, When } from "../Time.tsx";
import type { Column } from "./columns.ts";

/** A row of the list of executions. Its link has the focus when a person moves to it. */
export function ExecutionRow({
  execution,
  columns,
  current,
  choose,
  index,
  before,
}: {
  execution: Execution;
  columns: readonly Column[];
  current: boolean;
  choose: () => void;
  /** In the table. */
  index: number;
  /** A cell before the others. */
  before?: ReactNode;
}) {
  return (
    <tr aria-rowindex={index} aria-current={current || undefined}>
      {before}
      {columns.map((column) => (
        <td key={column} className={`at-${column}`}>
          <Cell execution={execution} column={column} choose={choose} />
        </td>
      ))}
    </tr>
  );
}

function Cell({ execution, column, choose }: { execution: Execution; column: Column; choose: () => void }) {
  switch (column) {
    case "state":
      return <StateMark state={stateOf(execution)} />;
    case "workflow":
      return (
        <>
          <Link
            className="main"
            to="/executions/$id"
            params={{ id: execution.id }}
            data-row={execution.id}
            onFocus={choose}
          >
            {execution.workflow}
          </Link>{" "}
          <span className="meta">{execution.workflow_version}</span>
        </>
      );
    case "now":
      return <Now execution={execution} />;
    case "started":
      return <When at={execution.created_at} />;
    case "took":
      return <Took from={execution.started_at} to={execution.finished_at} />;
    case "cause":
      return <span className="meta">{t().causes[execution.cause.kind]}</span>;
    case "code":
      return execution.error?.code;
    case "labels":
      return <Labels labels={execution.labels} short />;
    case "batch":
      return (
        execution.batch_id !== undefined && (
          <Link to="/batches/$id" params={{ id: execution.batch_id }}>
            {shortId(execution.batch_id)}
          </Link>
        )
      );
    case "item":
      return execution.item_id;
    case "id":
      return (
        <span className="id">
          <code>{shortId(execution.id)}</code>
          <Copy text={execution.id} what={t().list.id} />
        </span>
      );
    default:
      return column satisfies never;
  }
}

/** What an execution does now: why it failed, what it waits for, which attempt is next. */
function Now({ execution }: { execution: Execution }) {
  const now = useNow();
  const may = useMay();
  const { error, attempting, waiting_for: wait } = execution;
  const ahead = (at: string) => formatRelative(new Date(at), now);
  if (error) {
    const text = error.detail ?? error.title;
    return <span title={text}>{text}</span>;
  }
  if (attempting) {
    return t().attempting(attempting.attempt, attempting.of, ahead(attempting.next_at));
  }
  if (wait) {
    const waits = t().waits;
    const what = wait.kind === "event" ? waits.event(wait.filter?.types ?? []) : waits[wait.kind];
    const words = wait.until === undefined ? what : waits.until(what, ahead(wait.until));
    return wait.task_id !== undefined && may("tasks:read") ? (
      <Link to="/inbox/$taskId" params={{ taskId: wait.task_id }} search={{ view: "all" }}>
        {words}
      </Link>
    ) : (
      words
    );
  }
  return null;
}
