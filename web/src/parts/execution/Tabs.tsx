import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { contentAddress, retriesQuestion } from "../../api/detail.ts";
import { environment } from "../../api/environment.ts";
import type { Execution } from "../../api/executions.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import { Copy, shortId } from "../Copy.tsx";
import { JsonTree } from "../JsonTree.tsx";
import { Empty } from "../Notice.tsx";
import { isFinal, stateOf } from "../state.ts";
import { When } from "../Time.tsx";

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

export function Files({ execution }: { execution: Execution }) {
  const texts = executionTexts();
  const files = execution.results ?? [];
  if (files.length === 0) {
    return <Empty text={texts.noFiles} />;
  }
  return (
    <table className="list" aria-label={texts.tabs.files}>
      <thead>
        <tr>
          <th scope="col">{texts.file.name}</th>
          <th scope="col">{texts.file.type}</th>
          <th scope="col">{texts.file.size}</th>
          <th scope="col">{texts.file.expires}</th>
        </tr>
      </thead>
      <tbody>
        {files.map((file) => (
          <tr key={file.url}>
            <td>
              <a href={contentAddress(file.url)} download={file.filename} title={texts.file.download(file.filename)}>
                {file.filename}
              </a>
            </td>
            <td className="meta">{file.content_type}</td>
            <td className="number">{t().bytes(file.size)}</td>
            <td>
              <When at={file.expires_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function About({ execution }: { execution: Execution }) {
  const texts = executionTexts();
  const labels = Object.entries(execution.labels ?? {});
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
      {labels.length > 0 && (
        <>
          <dt>{texts.labels}</dt>
          <dd>{labels.map(([key, value]) => `${key}=${value}`).join(" ")}</dd>
        </>
      )}
      {execution.retained_until !== undefined && (
        <>
          <dt>{texts.kept}</dt>
          <dd>{texts.retained(new Date(execution.retained_until))}</dd>
        </>
      )}
    </dl>
  );
}

const link = (id: string) => (
  <Link key={id} to="/executions/$id" params={{ id }} search={{}}>
    {shortId(id)}
  </Link>
);

/** Links to the execution that this one repeats, and to those that repeat it. */
export function Retries({ execution }: { execution: Execution }) {
  const texts = executionTexts();
  const final = isFinal(stateOf(execution));
  const retries = useQuery({ ...retriesQuestion(execution), enabled: final }).data ?? [];
  return (
    <>
      {execution.retry_of !== undefined && (
        <span>
          {texts.retryOf} {link(execution.retry_of)}
        </span>
      )}
      {retries.length > 0 && (
        <span className="row">
          {texts.retries} {retries.map((retry) => link(retry.id))}
        </span>
      )}
    </>
  );
}
