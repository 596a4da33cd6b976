import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Suspense } from "react";
import { alikeQuestion } from "../api/detail.ts";
import { executionQuestion, type Execution as Row } from "../api/executions.ts";
import { t } from "../messages/index.ts";
import { executionTexts } from "../messages/execution.ts";
import { checked } from "../parts/checked.ts";
import { Copy, shortId } from "../parts/Copy.tsx";
import { Actions } from "../parts/execution/Actions.tsx";
import { tabs, type Address, type Go } from "../parts/execution/address.ts";
import { Files } from "../parts/execution/Files.tsx";
import { useLive, type Fact } from "../parts/execution/live.ts";
import { ToTask } from "../parts/execution/Inspector.tsx";
import { LogView } from "../parts/execution/LogView.tsx";
import { More } from "../parts/execution/More.tsx";
import { About, InputOutput, Related } from "../parts/execution/Tabs.tsx";
import { Neighbours } from "../parts/execution/Neighbours.tsx";
import { filterOf } from "../parts/filter.ts";
import { Timeline } from "../parts/execution/Timeline.tsx";
import { Labels } from "../parts/Labels.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { stateOf } from "../parts/state.ts";
import { StateMark } from "../parts/StateMark.tsx";
import { Took, When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import { WorkflowLink } from "../parts/WorkflowLink.tsx";
import "../styles/execution.css";
import { later } from "../parts/later.tsx";

const Graph = later(() => import("../parts/execution/Graph.tsx"));
const Events = later(() => import("../parts/execution/Events.tsx"));

const route = getRouteApi("/executions/$id");

/** An execution: how it is, why it failed, and its parts as tabs. */
export default function Execution() {
  const { id } = route.useParams();
  const address = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/executions/$id" });
  const asked = useQuery(executionQuestion(id));
  const facts = useLive(id, asked.data, address.tab === "events");
  const go: Go = (change) => {
    const next = Object.fromEntries(
      Object.entries({ ...address, ...change }).filter(([, value]) => value !== undefined),
    );
    void navigate({ search: next as Address, replace: true, resetScroll: false });
  };
  return (
    <Page
      title={executionTexts().title(shortId(id))}
      actions={
        <>
          <Neighbours key={id} id={id} />
          {asked.data && <Actions key={`actions ${id}`} execution={asked.data} />}
          {asked.data && <More key={`more ${id}`} execution={asked.data} />}
        </>
      }
    >
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isLoading && <Waiting />}
      {asked.data && <Head execution={asked.data} />}
      {asked.data && <Parts key={id} execution={asked.data} facts={facts} address={address} go={go} />}
    </Page>
  );
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
        {execution.waiting_for && <ToTask wait={execution.waiting_for} />}
        {execution.started_at !== undefined && (
          <span className="meta">
            {executionTexts().started} <When at={execution.started_at} />
          </span>
        )}
        <Took from={execution.started_at} to={execution.finished_at} />
        <span>
          <WorkflowLink name={execution.workflow} /> <span className="meta">{execution.workflow_version}</span>
        </span>
        <span className="id">
          <code>{shortId(execution.id)}</code>
          <Copy text={execution.id} what={t().list.id} />
        </span>
        <span className="meta">
          {t().cause}: {t().causes[execution.cause.kind]}
        </span>
        <Labels labels={execution.labels} />
        <Related execution={execution} />
      </div>
      {error && (
        <div className="alert">
          <div>
            <strong>{error.title ?? error.code}</strong>
            {error.detail !== undefined && <p>{error.detail}</p>}
            <p className="meta">
              {error.instance !== undefined && (
                <Link to="/executions/$id" params={{ id: execution.id }} search={{ task: error.instance }}>
                  <code>{error.instance}</code>
                </Link>
              )}{" "}
              {executionTexts().origins[error.origin]} <Alike execution={execution} />
            </p>
          </div>
        </div>
      )}
    </>
  );
}

/** How often the workflow has failed like this lately. */
function Alike({ execution }: { execution: Row }) {
  const found = useQuery(alikeQuestion(execution)).data;
  if (!found || found.count < 2) {
    return null;
  }
  const group = { code: execution.error?.code ?? "", failure: found.failure };
  const filter = filterOf(group, execution.workflow, [{ key: "from", value: "-24h" }]);
  return (
    <Link to="/executions" search={{ filter }}>
      {executionTexts().alike(found.count, found.more)}
    </Link>
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

function Parts({
  execution,
  facts,
  address,
  go,
}: {
  execution: Row;
  facts: readonly Fact[];
  address: Address;
  go: Go;
}) {
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
      {shown === "events" && (
        <Suspense fallback={<Waiting />}>
          <Events execution={execution} facts={facts} address={address} go={go} />
        </Suspense>
      )}
      {shown === "log" && <LogView execution={execution} />}
      {shown === "files" && <Files execution={execution} />}
      {shown === "about" && <About execution={execution} />}
    </>
  );
}
