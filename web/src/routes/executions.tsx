import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";
import { executionsQuestion, newestQuestion, type Execution } from "../api/executions.ts";
import { useMay } from "../api/me.ts";
import { useListSettings } from "../api/views.ts";
import { executionsTexts } from "../messages/executions.ts";
import { t } from "../messages/index.ts";
import { operationsTexts } from "../messages/operations.ts";
import { checked } from "../parts/checked.ts";
import { rememberList } from "../parts/cameFrom.ts";
import { Copy, shortId } from "../parts/Copy.tsx";
import { Columns } from "../parts/executions/Columns.tsx";
import { chosenColumns, shares, type Column } from "../parts/executions/columns.ts";
import { Count } from "../parts/executions/Count.tsx";
import { Export } from "../parts/executions/Export.tsx";
import { Failures } from "../parts/executions/Failures.tsx";
import { FilterBar } from "../parts/executions/FilterBar.tsx";
import { columnName } from "../parts/executions/names.ts";
import { ExecutionRow } from "../parts/executions/Row.tsx";
import { knownOf } from "../parts/executions/suggest.ts";
import { useSelection } from "../parts/executions/selection.ts";
import { RetryGroup, SelectionBar } from "../parts/executions/SelectionBar.tsx";
import { Views, type Search } from "../parts/executions/Views.tsx";
import { complain, parse, toQuery, type Query } from "../parts/filter.ts";
import { put } from "../parts/kept.ts";
import { List, useLiveListing, type Listing } from "../parts/List.tsx";
import { LongTable } from "../parts/LongTable.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { focusRow, useRows } from "../parts/rows.ts";
import "../styles/executions.css";

const route = getRouteApi("/executions");
const lastFilter = "chargehand-last-filter";

/** Executions: the newest first, or failures by cause, by a filter that is part of the address. */
export default function Executions() {
  const { filter = "", group } = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/executions" });
  const terms = useMemo(() => parse(filter), [filter]);
  const query = () => toQuery(terms, new Date()).query;
  const complaints = useMemo(() => complain(terms), [terms]);
  const sound = complaints.length === 0;
  const enabled = sound && group === undefined;
  const list = useInfiniteQuery({ ...executionsQuestion(filter, query), enabled });
  const newest = useQuery({ ...newestQuestion(filter, query), enabled: enabled && list.isSuccess });
  const listing = useLiveListing<Execution>(list, executionsQuestion(filter, query).queryKey, newest);
  const { rows } = listing;
  const settings = useListSettings();
  const columns = chosenColumns(settings.executionColumns);
  const manages = useMay()("executions:manage");
  const texts = executionsTexts();
  const search: Search = { ...(filter !== "" && { filter }), ...(group !== undefined && { group }) };
  const apply = (next: string) => {
    const { filter: _, ...rest } = search;
    void navigate({ search: next === "" ? rest : { ...rest, filter: next } });
  };
  useEffect(() => {
    if (filter !== "") {
      put(lastFilter, filter);
    }
  }, [filter]);
  const last = filter === "" && group === undefined ? sessionStorage.getItem(lastFilter) : null;
  return (
    <Page title={t().nav.executions}>
      <FilterBar
        key={`bar ${filter}`}
        filter={filter}
        complaints={complaints}
        known={useMemo(() => knownOf(rows), [rows])}
        apply={apply}
      />
      <div className="toolbar">
        <Views views={settings.views} search={search} />
        <Columns chosen={columns} />
        <Button
          variant="default"
          aria-pressed={group === "cause"}
          onClick={() => {
            const { group: _, ...rest } = search;
            void navigate({ search: group === undefined ? { ...rest, group: "cause" } : rest });
          }}
        >
          {texts.group}
        </Button>
        {sound && <Count key={`count ${filter}`} filter={filter} query={query} />}
        {sound && <Export target={() => ({ query: query() })} />}
        {last !== null && (
          <Link to="/executions" search={{ filter: last }}>
            {texts.lastFilter(last)}
          </Link>
        )}
      </div>
      {sound && group === "cause" && (
        <Failures filter={filter} terms={terms} query={query}>
          {(of) => manages && <RetryGroup query={() => toQuery(parse(of), new Date()).query} />}
        </Failures>
      )}
      {enabled && (
        <List
          listing={listing}
          nothing={<Nothing filtered={filter !== ""} older={list.hasNextPage} clear={() => apply("")} />}
        >
          <Table key={filter} listing={listing} columns={columns} address={`filter=${filter}`} query={query} />
        </List>
      )}
    </Page>
  );
}

function Table({
  listing,
  columns,
  address,
  query,
}: {
  listing: Listing<Execution>;
  columns: readonly Column[];
  address: string;
  query: () => Query;
}) {
  const { rows, refresh, onward } = listing;
  const { current, choose } = useRows(refresh);
  const manages = useMay()("executions:manage");
  const widths = shares(columns, manages);
  const order = useMemo(() => rows.map((row) => row.id), [rows]);
  const { selection, has, toggle, selectAll, clear } = useSelection(order, manages);
  useEffect(() => rememberList({ address, ids: order }), [address, order]);
  const select = (row: Execution) => (
    <td className="at-check">
      <input
        type="checkbox"
        aria-label={operationsTexts().select(row.workflow, shortId(row.id))}
        checked={has(row.id)}
        onChange={(event) => toggle(row.id, (event.nativeEvent as MouseEvent).shiftKey)}
      />
    </td>
  );
  return (
    <div className="selectable">
      {manages && (
        <SelectionBar
          selection={selection}
          query={query}
          selectAll={selectAll}
          clear={() => {
            clear();
            focusRow(current);
          }}
        />
      )}
      <LongTable
        name={t().nav.executions}
        columns={[
          ...(manages
            ? [{ title: operationsTexts().label, className: "at-check", width: widths[0], unseen: true }]
            : []),
          ...columns.map((column, at) => ({
            title: columnName(column),
            className: `at-${column}`,
            width: widths.at(at - columns.length),
          })),
        ]}
        rows={rows}
        atEnd={onward}
        renderRow={(row, index) => (
          <ExecutionRow
            execution={row}
            columns={columns}
            current={row.id === current}
            choose={() => choose(row.id)}
            index={index}
            before={manages && select(row)}
          />
        )}
      />
    </div>
  );
}

const example = `chargehand run examples/hello --input '{"name":"Ada"}'`;

function Nothing({ filtered, older, clear }: { filtered: boolean; older: boolean; clear: () => void }) {
  const texts = executionsTexts();
  if (older) {
    return <Empty text={texts.emptyPage} />;
  }
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
      <p>{t().list.example}</p>
      <span className="command">
        <code>{example}</code>
        <Copy text={example} what={example} />
      </span>
    </Empty>
  );
}
