import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { executionQuestion, type Execution as Row } from "../api/executions.ts";
import { every } from "../api/query.ts";
import { t } from "../messages/index.ts";
import { Copy, shortId } from "../parts/Copy.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { isFinal, stateOf } from "../parts/state.ts";
import { StateMark } from "../parts/StateMark.tsx";
import { Took, When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";

const route = getRouteApi("/executions/$id");

export default function Execution() {
  const { id } = route.useParams();
  const asked = useQuery({
    ...executionQuestion(id),
    refetchInterval: (query) => (query.state.data && isFinal(stateOf(query.state.data)) ? false : every(2000)(query)),
  });
  return (
    <Page title={t().execution.title(shortId(id))}>
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isLoading && <Waiting />}
      {asked.data && <Facts execution={asked.data} />}
    </Page>
  );
}

function Facts({ execution }: { execution: Row }) {
  const texts = t().execution;
  const { error } = execution;
  return (
    <>
      {error && (
        <div className="alert">
          <div>
            <strong>{error.title}</strong>
            {error.detail !== undefined && <p>{error.detail}</p>}
          </div>
        </div>
      )}
      <dl className="facts">
        <dt>{t().executions.columns.state}</dt>
        <dd>
          <StateMark state={stateOf(execution)} />
        </dd>
        <dt>{texts.workflow}</dt>
        <dd>
          {execution.workflow} <span className="meta">{execution.workflow_version}</span>
        </dd>
        <dt>{t().executions.columns.id}</dt>
        <dd>
          <code>{execution.id}</code> <Copy text={execution.id} what={t().executions.columns.id} />
        </dd>
        <dt>{texts.created}</dt>
        <dd>
          <When at={execution.created_at} />
        </dd>
        <dt>{texts.took}</dt>
        <dd>
          <Took from={execution.started_at} to={execution.finished_at} />
        </dd>
        <dt>{texts.cause}</dt>
        <dd>{t().causes[execution.cause.kind]}</dd>
      </dl>
      {execution.output !== undefined && (
        <>
          <h2>{texts.output}</h2>
          <pre className="json">{JSON.stringify(execution.output, null, 2)}</pre>
        </>
      )}
    </>
  );
}
