import { Link } from "@tanstack/react-router";
import type { Execution } from "../api/executions.ts";
import { formatRelative } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { useNow } from "./clock.ts";
import { Copy, shortId } from "./Copy.tsx";
import { stateOf } from "./state.ts";
import { StateMark } from "./StateMark.tsx";
import { Took, When } from "./Time.tsx";

/** A row of a list of executions. Its link has the focus when a person moves to it. */
export function ExecutionRow({
  execution,
  current,
  choose,
}: {
  execution: Execution;
  current: boolean;
  choose: () => void;
}) {
  return (
    <tr aria-current={current || undefined}>
      <td>
        <StateMark state={stateOf(execution)} />
      </td>
      <td>
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
      </td>
      <td className="cut">
        <Now execution={execution} />
      </td>
      <td>
        <When at={execution.created_at} />
      </td>
      <td>
        <Took from={execution.started_at} to={execution.finished_at} />
      </td>
      <td className="meta">{t().causes[execution.cause.kind]}</td>
      <td>
        <span className="id">
          <code>{shortId(execution.id)}</code>
          <Copy text={execution.id} what={t().list.id} />
        </span>
      </td>
    </tr>
  );
}

/** What an execution does now: why it failed, what it waits for, which attempt is next. */
function Now({ execution }: { execution: Execution }) {
  const now = useNow();
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
    return wait.until === undefined ? what : waits.until(what, ahead(wait.until));
  }
  return null;
}
