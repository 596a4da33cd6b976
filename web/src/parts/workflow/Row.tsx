import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "../../api/client.ts";
import { environment } from "../../api/environment.ts";
import type { Workflow } from "../../api/workflows.ts";
import { workflowsTexts } from "../../messages/workflows.ts";
import { StateIcon } from "../icons.tsx";
import type { State } from "../state.ts";
import { StateMark } from "../StateMark.tsx";
import { When } from "../Time.tsx";

const ofStatus: Record<Schemas["LastExecution"]["status"], State> = {
  initial: "queued",
  processing: "running",
  human_in_the_loop: "person",
  finished: "finished",
  error: "error",
};

/** A row of the list of workflows. Its link has the focus when a person moves to it. */
export function WorkflowRow({
  workflow,
  index,
  current,
  choose,
  tag,
  run,
}: {
  workflow: Workflow;
  /** In the table. */
  index: number;
  current: boolean;
  choose: () => void;
  tag: (name: string) => void;
  /** Whether the person may start workflows. */
  run: boolean;
}) {
  const { namespace, name, activity, title } = workflow;
  const texts = workflowsTexts();
  const last = activity?.last_execution;
  return (
    <tr aria-rowindex={index} aria-current={current || undefined}>
      <td>
        <span className="stacked">
          <Link
            className="main"
            to="/workflows/$namespace/$name"
            params={{ namespace, name }}
            data-row={workflow.id}
            onFocus={choose}
          >
            {title ?? `${namespace}/${name}`}
          </Link>
          {title !== undefined && (
            <span className="meta">
              {namespace}/{name}
            </span>
          )}
        </span>
      </td>
      <td>
        <span className="row">
          {workflow.version}
          {workflow.draft === true && (
            <span className="badge" title={texts.draftHelp}>
              {texts.draft}
            </span>
          )}
        </span>
      </td>
      <td>
        {last === undefined ? (
          <span className="meta">{texts.never}</span>
        ) : (
          <span className="row">
            <Link to="/executions/$id" params={{ id: last.id }}>
              <StateMark state={ofStatus[last.status]} />
            </Link>
            <span className="meta">
              <When at={last.created_at} />
            </span>
          </span>
        )}
      </td>
      <td>{activity && <Day activity={activity} name={`${namespace}/${name}`} />}</td>
      <td>{activity?.next_schedule !== undefined && <When at={activity.next_schedule} />}</td>
      <td>
        {workflow.tags && workflow.tags.length > 0 && (
          <span className="tags">
            {workflow.tags.map((each) => (
              <Button
                key={each}
                variant="default"
                size="compact-xs"
                title={texts.onlyTag(each)}
                onClick={() => tag(each)}
              >
                {each}
              </Button>
            ))}
          </span>
        )}
      </td>
      {run && (
        <td>
          {(workflow.draft !== true || environment() === "test") && (
            <Link
              className="as-button"
              to="/workflows/$namespace/$name"
              params={{ namespace, name }}
              search={{ tab: "run" }}
              aria-label={texts.runOf(`${namespace}/${name}`)}
            >
              {texts.run}
            </Link>
          )}
        </td>
      )}
    </tr>
  );
}

/** How many executions of the last 24 hours there are, are open, and have failed. Each number leads to them. */
function Day({ activity, name }: { activity: Schemas["Activity"]; name: string }) {
  const texts = workflowsTexts();
  const { created, open, failed, at_least: more = false } = activity;
  if (created === 0) {
    return null;
  }
  const filter = `workflow:${name} from:-24h`;
  const states = "state:queued state:running state:waiting state:suspended";
  return (
    <span className="counts">
      <Link to="/executions" search={{ filter }}>
        {texts.started(created, more)}
      </Link>
      {open > 0 && (
        <Link to="/executions" search={{ filter: `${states} ${filter}` }}>
          {texts.open(open, more)}
        </Link>
      )}
      {failed > 0 && (
        <Link className="state state-error" to="/executions" search={{ filter: `state:error ${filter}` }}>
          <StateIcon state="error" size={14} />
          {texts.failed(failed, more)}
        </Link>
      )}
    </span>
  );
}
