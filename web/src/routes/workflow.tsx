import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Suspense } from "react";
import { useMay } from "../api/me.ts";
import { workflowPath, workflowQuestion, type WorkflowDetail } from "../api/workflows.ts";
import { t } from "../messages/index.ts";
import { workflowTexts, workflowsTexts } from "../messages/workflows.ts";
import { checked } from "../parts/checked.ts";
import { Copy } from "../parts/Copy.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import { scopes, tabs, type Address, type Go } from "../parts/workflow/address.ts";
import { Actions } from "../parts/workflow/Actions.tsx";
import { Api } from "../parts/workflow/Api.tsx";
import { Definition } from "../parts/workflow/Definition.tsx";
import { Run } from "../parts/workflow/Run.tsx";
import { Versions } from "../parts/workflow/Versions.tsx";
import "../styles/execution.css";
import "../styles/workflows.css";
import { later } from "../parts/later.tsx";

const Edit = later(() => import("../parts/editor/Edit.tsx"));
const Graph = later(() => import("../parts/workflow/Graph.tsx"));

const route = getRouteApi("/workflows/$namespace/$name");

/** A workflow: its definition, its versions, and how it is started. */
export default function Workflow() {
  const { namespace, name } = route.useParams();
  const address = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/workflows/$namespace/$name" });
  const asked = useQuery(workflowQuestion(workflowPath(namespace, name)));
  const go: Go = (change) => {
    const next = Object.fromEntries(
      Object.entries({ ...address, ...change }).filter(([, value]) => value !== undefined),
    );
    void navigate({ search: next as Address, replace: true, resetScroll: false });
  };
  return (
    <Page
      title={asked.data?.title ?? `${namespace}/${name}`}
      actions={asked.data && <Actions key={asked.data.id} workflow={asked.data} />}
    >
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isLoading && <Waiting />}
      {asked.data && <Parts key={asked.data.id} workflow={asked.data} address={address} go={go} />}
    </Page>
  );
}

function Parts({ workflow, address, go }: { workflow: WorkflowDetail; address: Address; go: Go }) {
  const texts = workflowTexts();
  const may = useMay();
  const offered = tabs.filter((tab) => may(scopes[tab]));
  const first = offered[0] ?? "definition";
  const shown = address.tab ?? first;
  const version = address.version ?? workflow.version;
  const { namespace, name } = workflow;
  return (
    <>
      <div className="row execution-head">
        <span className="id">
          <code>
            {namespace}/{name}
          </code>
          <Copy text={`${namespace}/${name}`} what={texts.name} />
        </span>
        <span>{texts.versionIs(version)}</span>
        {workflow.published_version === undefined && (
          <span className="badge" title={workflowsTexts().draftHelp}>
            {workflowsTexts().draft}
          </span>
        )}
        {workflow.tags?.map((tag) => (
          <Link key={tag} className="badge" to="/workflows" search={{ tag }} title={workflowsTexts().onlyTag(tag)}>
            {tag}
          </Link>
        ))}
        <Link to="/executions" search={{ filter: `workflow:${namespace}/${name}` }}>
          {t().nav.executions}
        </Link>
      </div>
      <nav className="tabs" aria-label={texts.tabs.label}>
        {offered.map((tab) => (
          <Link
            key={tab}
            to="/workflows/$namespace/$name"
            params={{ namespace, name }}
            search={{
              ...(tab !== first && { tab }),
              ...(address.version !== undefined && { version: address.version }),
            }}
            activeOptions={{ exact: true }}
            aria-current={tab === shown ? "page" : undefined}
            resetScroll={false}
          >
            {texts.tabs[tab]}
          </Link>
        ))}
      </nav>
      {shown === "definition" &&
        (address.mode === "edit" ? (
          <Suspense fallback={<Waiting />}>
            <Edit workflow={workflow} address={address} go={go} />
          </Suspense>
        ) : (
          <Definition workflow={workflow} version={version} />
        ))}
      {shown === "graph" && (
        <Suspense fallback={<Waiting />}>
          <Graph workflow={workflow} version={version} address={address} go={go} />
        </Suspense>
      )}
      {shown === "versions" && <Versions workflow={workflow} address={address} go={go} />}
      {shown === "run" && <Run workflow={workflow} />}
      {shown === "api" && <Api workflow={workflow} />}
    </>
  );
}
