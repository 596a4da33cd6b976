import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { progressQuestion, retriesQuestion, treeQuestion } from "../../api/detail.ts";
import { environment } from "../../api/environment.ts";
import type { Execution } from "../../api/executions.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Copy, shortId } from "../Copy.tsx";
import { JsonTree } from "../JsonTree.tsx";
import { Labels } from "../Labels.tsx";
import { isFinal, stateOf } from "../state.ts";
import { Snippet } from "../Snippet.tsx";
import { When } from "../Time.tsx";
import { workflowSnippets } from "../workflow/snippets.ts";

export function InputOutput({ execution }: { execution: Execution }) {
  const texts = executionTexts();
  const nothing = isFinal(stateOf(execution)) ? texts.noOutputEver : texts.noOutput;
  return (
    <div className="columns">
      <section>
        <h2>{texts.input}</h2>
        <JsonTree value={execution.input ?? {}} name={texts.input} />
      </section>
      <section>
        <h2>{texts.output}</h2>
        {execution.output === undefined ? (
          <p className="meta">{nothing}</p>
        ) : (
          <JsonTree value={execution.output} name={texts.output} />
        )}
      </section>
    </div>
  );
}

export function About({ execution }: { execution: Execution }) {
  const texts = executionTexts();
  const labelled = Object.keys(execution.labels ?? {}).length > 0;
  return (
    <dl className="facts">
      <dt>{t().list.id}</dt>
      <dd>
        <code>{execution.id}</code> <Copy text={execution.id} what={t().list.id} />
      </dd>
      <dt>{texts.workflow}</dt>
      <dd>
        {execution.workflow} <span className="meta">{execution.workflow_version}</span>
      </dd>
      <dt>{texts.revision}</dt>
      <dd>{execution.revision}</dd>
      <dt>{texts.environment}</dt>
      <dd>{t().environment[environment()]}</dd>
      <dt>{texts.cause}</dt>
      <dd>{t().causes[execution.cause.kind]}</dd>
      {execution.started_by && (
        <>
          <dt>{texts.by}</dt>
          <dd>{execution.started_by.name}</dd>
        </>
      )}
      <dt>{texts.created}</dt>
      <dd>
        <When at={execution.created_at} />
      </dd>
      {execution.finished_at !== undefined && (
        <>
          <dt>{texts.finished}</dt>
          <dd>
            <When at={execution.finished_at} />
          </dd>
        </>
      )}
      {labelled && (
        <>
          <dt>{texts.labels}</dt>
          <dd className="row">
            <Labels labels={execution.labels} />
          </dd>
        </>
      )}
      {execution.retained_until !== undefined && (
        <>
          <dt>{texts.kept}</dt>
          <dd>{texts.retained(new Date(execution.retained_until))}</dd>
        </>
      )}
      <dt>{texts.again}</dt>
      <dd>
        <Snippet name="curl" text={startAgain(execution)} />
      </dd>
    </dl>
  );
}

/** How a program starts the same again. */
function startAgain({ workflow, input }: Execution): string {
  const [namespace = "", name = ""] = workflow.split("/");
  return workflowSnippets(location.origin, { namespace, name }, input ?? {})[0]?.text ?? "";
}

const link = (id: string) => (
  <Link key={id} to="/executions/$id" params={{ id }} search={{}}>
    {shortId(id)}
  </Link>
);

/** Links to the execution that this one repeats, to those that repeat it, and to those that it has started. */
export function Related({ execution }: { execution: Execution }) {
  const texts = executionTexts();
  const final = isFinal(stateOf(execution));
  const retries = useQuery({ ...retriesQuestion(execution), enabled: final }).data;
  const progress = useQuery(progressQuestion(execution.id)).data;
  const starts = progress?.data.some((task) => task.kind === "run") === true;
  const tree = useQuery({ ...treeQuestion(execution), enabled: starts }).data;
  const children = tree?.list.filter((other) => other.parent_id === execution.id) ?? [];
  return (
    <>
      {execution.retry_of !== undefined && (
        <span>
          {texts.retryOf} {link(execution.retry_of)}
        </span>
      )}
      {retries !== undefined && retries.list.length > 0 && (
        <span className="row">
          {texts.retries} {retries.list.map((retry) => link(retry.id))}
          {retries.more && (
            <Link to="/executions" search={{ filter: `repeats:${execution.id}` }}>
              {texts.allOf}
            </Link>
          )}
        </span>
      )}
      {tree !== undefined && tree.list.length > 0 && (
        <span className="row">
          {children.length > 0 && texts.children} {children.map((child) => link(child.id))}
          <Link to="/executions" search={{ filter: `root:${execution.root_id ?? execution.id}` }}>
            {texts.tree}
          </Link>
        </span>
      )}
    </>
  );
}
