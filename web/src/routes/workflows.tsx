import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMay } from "../api/me.ts";
import { newestWorkflowsQuestion, workflowsQuestion, type Workflow, type WorkflowFilter } from "../api/workflows.ts";
import { t } from "../messages/index.ts";
import { workflowsTexts } from "../messages/workflows.ts";
import { Copy } from "../parts/Copy.tsx";
import { List, useListing } from "../parts/List.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { useRows } from "../parts/rows.ts";
import { WorkflowFilterBar } from "../parts/workflow/FilterBar.tsx";
import { WorkflowRow } from "../parts/workflow/Row.tsx";
import "../styles/workflows.css";

const route = getRouteApi("/workflows");

/** Workflows, the newest first, and what has happened with each. The filter is the address. */
export default function Workflows() {
  const texts = workflowsTexts();
  const { env: _, ...filter } = route.useSearch();
  const address = JSON.stringify(filter);
  const may = useMay();
  const navigate = useNavigate({ from: "/workflows" });
  const list = useInfiniteQuery(workflowsQuestion(filter));
  const newest = useQuery({ ...newestWorkflowsQuestion(filter), enabled: list.isSuccess });
  const listing = useListing<Workflow>(list, newest.data?.data, workflowsQuestion(filter).queryKey);
  const apply = (next: WorkflowFilter) => void navigate({ search: next });
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
      <WorkflowFilterBar key={`bar ${address}`} filter={filter} apply={apply} />
      <List listing={listing} nothing={<Nothing filtered={filtered} clear={() => apply({})} />}>
        <Table key={address} rows={listing.rows} refresh={listing.refresh} tag={(tag) => apply({ ...filter, tag })} />
      </List>
    </Page>
  );
}

function Table({
  rows,
  refresh,
  tag,
}: {
  rows: readonly Workflow[];
  refresh: () => void;
  tag: (name: string) => void;
}) {
  const { current, choose } = useRows(refresh);
  const texts = workflowsTexts();
  return (
    <table className="list" aria-label={texts.title}>
      <thead>
        <tr>
          <th scope="col">{texts.columns.workflow}</th>
          <th scope="col">{texts.columns.version}</th>
          <th scope="col">{texts.columns.last}</th>
          <th scope="col">{texts.columns.day}</th>
          <th scope="col">{texts.columns.next}</th>
          <th scope="col">{texts.columns.tags}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <WorkflowRow
            key={row.id}
            workflow={row}
            current={row.id === current}
            choose={() => choose(row.id)}
            tag={tag}
          />
        ))}
      </tbody>
    </table>
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
