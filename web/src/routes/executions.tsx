import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { IconArrowUp } from "@tabler/icons-react";
import { useCallback, useEffect, useMemo } from "react";
import { countNew, executionsQuestion, newestQuestion, patchRows, type Execution } from "../api/executions.ts";
import { t } from "../messages/index.ts";
import { executionsTexts } from "../messages/executions.ts";
import { Copy } from "../parts/Copy.tsx";
import { ExecutionRow } from "../parts/ExecutionRow.tsx";
import { complain, parse, toQuery } from "../parts/filter.ts";
import { FilterBar } from "../parts/FilterBar.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { useRows } from "../parts/rows.ts";
import { Waiting } from "../parts/Waiting.tsx";

const route = getRouteApi("/executions");

/** Executions: the newest first, by a filter that is part of the address. */
export default function Executions() {
  const { filter = "" } = route.useSearch();
  const navigate = useNavigate({ from: "/executions" });
  const terms = useMemo(() => parse(filter), [filter]);
  const query = () => toQuery(terms, new Date()).query;
  const complaints = useMemo(() => complain(terms), [terms]);
  const enabled = complaints.length === 0;
  const list = useInfiniteQuery({ ...executionsQuestion(filter, query), enabled });
  const newest = useQuery({ ...newestQuestion(filter, query), enabled: enabled && list.isSuccess });
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.data) ?? [], [list.data]);
  const fresh = newest.data?.data;
  useEffect(() => {
    if (fresh) {
      patchRows(filter, fresh);
    }
  }, [filter, fresh]);
  const { refetch } = list;
  const refresh = useCallback(() => {
    scrollTo({ top: 0 });
    void refetch();
  }, [refetch]);
  const apply = (next: string) => void navigate({ search: next === "" ? {} : { filter: next } });
  const waiting = fresh ? countNew(rows, fresh) : 0;
  return (
    <Page title={t().nav.executions}>
      <FilterBar key={`bar ${filter}`} filter={filter} complaints={complaints} apply={apply} />
      <div className="above" aria-live="polite">
        {waiting > 0 && !list.isFetching && (
          <Button leftSection={<IconArrowUp aria-hidden size={14} />} title={t().list.newerHelp} onClick={refresh}>
            {t().list.newer(waiting, waiting === fresh?.length && fresh.length > 1)}
          </Button>
        )}
      </div>
      {list.error && <Failure error={list.error} retry={() => void refetch()} />}
      {list.isLoading && <Waiting />}
      {rows.length > 0 && <Table key={filter} rows={rows} refresh={refresh} />}
      {list.isSuccess && rows.length === 0 && (
        <Nothing filtered={filter !== ""} older={list.hasNextPage} clear={() => apply("")} />
      )}
      {list.isSuccess && (
        <div className="below">
          {list.hasNextPage ? (
            <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
              {t().more}
            </Button>
          ) : (
            rows.length > 0 && t().list.end
          )}
        </div>
      )}
    </Page>
  );
}

function Table({ rows, refresh }: { rows: readonly Execution[]; refresh: () => void }) {
  const { current, choose } = useRows(refresh);
  const columns = executionsTexts().columns;
  return (
    <table className="list" aria-label={t().nav.executions}>
      <thead>
        <tr>
          <th scope="col">{columns.state}</th>
          <th scope="col">{columns.workflow}</th>
          <th scope="col">{columns.now}</th>
          <th scope="col">{columns.started}</th>
          <th scope="col">{columns.took}</th>
          <th scope="col">{columns.cause}</th>
          <th scope="col">{t().list.id}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <ExecutionRow key={row.id} execution={row} current={row.id === current} choose={() => choose(row.id)} />
        ))}
      </tbody>
    </table>
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
