import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Suspense, useEffect } from "react";
import { environment } from "../api/environment.ts";
import { executionQuestion, type Execution as Row } from "../api/executions.ts";
import { every } from "../api/query.ts";
import { follow } from "../api/sse.ts";
import { t } from "../messages/index.ts";
import { executionTexts } from "../messages/execution.ts";
import { Copy, shortId } from "../parts/Copy.tsx";
import { Actions } from "../parts/execution/Actions.tsx";
import { tabs, type Address, type Go } from "../parts/execution/address.ts";
import { LogView } from "../parts/execution/LogView.tsx";
import { About, Files, InputOutput, Retries } from "../parts/execution/Tabs.tsx";
import { Timeline } from "../parts/execution/Timeline.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { isFinal, stateOf } from "../parts/state.ts";
import { StateMark } from "../parts/StateMark.tsx";
import { Took } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/execution.css";
import { later } from "../parts/later.tsx";

const Graph = later(() => import("../parts/execution/Graph.tsx"));

const route = getRouteApi("/executions/$id");
const final = (row: Row | undefined) => row !== undefined && isFinal(stateOf(row));

/** An execution: how it is, why it failed, and its parts as tabs. */
export default function Execution() {
  const { id } = route.useParams();
  const address = route.useSearch();
  const navigate = useNavigate({ from: "/executions/$id" });
  const asked = useQuery({
    ...executionQuestion(id),
    refetchInterval: (query) => (final(query.state.data) ? false : every(5000)(query)),
  });
  useFollowing(id, asked.isSuccess && !final(asked.data));
  const go: Go = (change) => {
    const next = Object.fromEntries(
      Object.entries({ ...address, ...change }).filter(([, value]) => value !== undefined),
    );
    void navigate({ search: next as Address, replace: true, resetScroll: false });
  };
  return (
    <Page
      title={executionTexts().title(shortId(id))}
      {...(asked.data && { actions: <Actions execution={asked.data} /> })}
    >
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isLoading && <Waiting />}
      {asked.data && <Head execution={asked.data} />}
      {asked.data && <Parts key={id} execution={asked.data} address={address} go={go} />}
    </Page>
  );
}

/** Asks again what is shown when the server says that something has changed, once a second at most. */
function useFollowing(id: string, running: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!running) {
      return undefined;
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stream = follow([`execution:${id}`], () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void queries.invalidateQueries({ queryKey: [environment(), "execution", id] });
      }, 1000);
    });
    return () => {
      clearTimeout(timer);
      stream.close();
      void queries.invalidateQueries({ queryKey: [environment(), "execution", id] });
    };
  }, [id, running, queries]);
}

function Head({ execution }: { execution: Row }) {
  const { error, parent_id: parent, root_id: root } = execution;
  return (
    <>
      {parent !== undefined && (
        <nav className="breadcrumb" aria-label={executionTexts().family}>
          {root !== undefined && root !== parent && <Above id={root} />}
          <Above id={parent} />
          <span aria-current="page">{execution.workflow}</span>
        </nav>
      )}
      <div className="row execution-head">
        <StateMark state={stateOf(execution)} />
        <Took from={execution.started_at} to={execution.finished_at} />
        <span>
          {execution.workflow} <span className="meta">{execution.workflow_version}</span>
        </span>
        <span className="id">
          <code>{shortId(execution.id)}</code>
          <Copy text={execution.id} what={t().list.id} />
        </span>
        <span className="meta">{t().causes[execution.cause.kind]}</span>
        <Retries execution={execution} />
      </div>
      {error && (
        <div className="alert">
          <div>
            <strong>{error.title ?? error.code}</strong>
            {error.detail !== undefined && <p>{error.detail}</p>}
            <p className="meta">
              {error.instance !== undefined && <code>{error.instance}</code>} {executionTexts().origins[error.origin]}
            </p>
          </div>
        </div>
      )}
    </>
  );
}

/** An execution that has started this one, by the name of its workflow. */
function Above({ id }: { id: string }) {
  const asked = useQuery(executionQuestion(id));
  return (
    <>
      <Link to="/executions/$id" params={{ id }} search={{}}>
        {asked.data?.workflow ?? shortId(id)}
      </Link>
      <span aria-hidden> › </span>
    </>
  );
}

function Parts({ execution, address, go }: { execution: Row; address: Address; go: Go }) {
  const texts = executionTexts().tabs;
  const shown = address.tab ?? "timeline";
  return (
    <>
      <nav className="tabs" aria-label={texts.label}>
        {tabs.map((tab) => (
          <Link
            key={tab}
            to="/executions/$id"
            params={{ id: execution.id }}
            search={tab === "timeline" ? {} : { tab }}
            activeOptions={{ exact: true }}
            aria-current={tab === shown ? "page" : undefined}
            resetScroll={false}
          >
            {texts[tab]}
          </Link>
        ))}
      </nav>
      {shown === "timeline" && <Timeline execution={execution} address={address} go={go} />}
      {shown === "graph" && (
        <Suspense fallback={<Waiting />}>
          <Graph execution={execution} address={address} go={go} />
        </Suspense>
      )}
      {shown === "io" && <InputOutput execution={execution} />}
      {shown === "log" && <LogView execution={execution} />}
      {shown === "files" && <Files execution={execution} />}
      {shown === "about" && <About execution={execution} />}
    </>
  );
}
