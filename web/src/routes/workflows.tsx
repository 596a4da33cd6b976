import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useMay } from "../api/me.ts";
import { newestWorkflowsQuestion, workflowsQuestion, type Workflow, type WorkflowFilter } from "../api/workflows.ts";
import { t } from "../messages/index.ts";
import { workflowsTexts } from "../messages/workflows.ts";
import { checked } from "../parts/checked.ts";
import { Copy } from "../parts/Copy.tsx";
import { List, useLiveListing, type Listing } from "../parts/List.tsx";
import { LongTable, titled } from "../parts/LongTable.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { useRows } from "../parts/rows.ts";
import { WorkflowFilterBar } from "../parts/workflow/FilterBar.tsx";
import { Drop } from "../parts/workflow/Drop.tsx";
import { lastDeleted, setDeleted } from "../parts/workflow/handed.ts";
import { WorkflowRow } from "../parts/workflow/Row.tsx";
import "../styles/workflows.css";

const route = getRouteApi("/workflows");

/** Workflows, the newest first, and what has happened with each. The filter is the address. */
export default function Workflows() {
  const texts = workflowsTexts();
  const { env: _, ...filter } = route.useMatch({ select: checked });
  const address = JSON.stringify(filter);
  const may = useMay();
  const navigate = useNavigate({ from: "/workflows" });
  const list = useInfiniteQuery(workflowsQuestion(filter));
  const newest = useQuery({ ...newestWorkflowsQuestion(filter), enabled: list.isSuccess });
  const listing = useLiveListing<Workflow>(list, workflowsQuestion(filter).queryKey, newest);
  const apply = (next: WorkflowFilter) => void navigate({ search: next });
  const [gone] = useState(lastDeleted);
  useEffect(() => setDeleted(undefined), []);
  const filtered = Object.keys(filter).length > 0;
  return (
    <Page
      title={texts.title}
      {...(may("workflows:write") && {
        actions: (
          <Link className="as-button" to="/workflows/new">
            {texts.new}
          </Link>
        ),
      })}
    >
      {gone !== undefined && (
        <p role="status" className="done">
          {texts.deleted(gone)}
        </p>
      )}
      {may("workflows:write") && <Drop />}
      <WorkflowFilterBar key={`bar ${address}`} filter={filter} apply={apply} />
      <List listing={listing} nothing={<Nothing filtered={filtered} clear={() => apply({})} />}>
        <Table key={address} listing={listing} tag={(tag) => apply({ ...filter, tag })} />
      </List>
    </Page>
  );
}

function Table({ listing, tag }: { listing: Listing<Workflow>; tag: (name: string) => void }) {
  const { current, choose } = useRows(listing.refresh);
  const { title, columns } = workflowsTexts();
  const run = useMay()("executions:create");
  const titles = [columns.workflow, columns.version, columns.last, columns.day, columns.next, columns.tags];
  return (
    <LongTable
      name={title}
      columns={(run ? [...titles, t().list.actions] : titles).map(titled)}
      rows={listing.rows}
      atEnd={listing.onward}
      renderRow={(row, index) => (
        <WorkflowRow
          workflow={row}
          index={index}
          current={row.id === current}
          choose={() => choose(row.id)}
          tag={tag}
          run={run}
        />
      )}
    />
  );
}

const example = "chargehand workflows apply examples/hello.yaml";

function Nothing({ filtered, clear }: { filtered: boolean; clear: () => void }) {
  const texts = workflowsTexts();
  if (filtered) {
    return (
      <Empty text={texts.emptyFiltered}>
        <Button variant="default" onClick={clear}>
          {t().list.clear}
        </Button>
      </Empty>
    );
  }
  return (
    <Empty text={texts.empty}>
      <p>{texts.emptyHelp}</p>
      <span className="command">
        <code>{example}</code>
        <Copy text={example} what={example} />
      </span>
    </Empty>
  );
}
