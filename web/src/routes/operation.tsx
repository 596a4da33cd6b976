import { IconBan } from "@tabler/icons-react";
import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../api/me.ts";
import {
  cancelOperation,
  failedItemsQuestion,
  isUnderWay,
  operationQuestion,
  type Operation,
} from "../api/operations.ts";
import { formatNumber } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { operationsTexts } from "../messages/operations.ts";
import { Action } from "../parts/Action.tsx";
import { shortId } from "../parts/Copy.tsx";
import { End } from "../parts/List.tsx";
import { LongTable, titled } from "../parts/LongTable.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/executions.css";

const route = getRouteApi("/operations/$id");

/** An action on many executions: how far it is, and what failed. */
export default function OperationPage() {
  const { id } = route.useParams();
  const texts = operationsTexts();
  const asked = useQuery(operationQuestion(id));
  const may = useMay();
  const [key] = useState(() => crypto.randomUUID());
  const stop = useMutation({ mutationFn: () => cancelOperation(id, key) });
  const operation = asked.data;
  const underWay = operation !== undefined && isUnderWay(operation);
  return (
    <Page
      title={operation ? texts.titles[operation.action] : t().nav.executions}
      actions={
        underWay &&
        may("executions:manage") && (
          <Action
            variant="default"
            title={texts.stopHelp}
            leftSection={<IconBan aria-hidden size={14} />}
            loading={stop.isPending}
            onClick={() => stop.mutate()}
          >
            {texts.stop}
          </Action>
        )
      }
    >
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {stop.error && <Failure error={stop.error} />}
      {asked.isLoading && <Waiting />}
      {operation && <State operation={operation} />}
      {operation && operation.failed > 0 && <Failures operation={operation} />}
      <p>
        <Link to="/executions" search={{}}>
          {texts.back}
        </Link>
      </p>
    </Page>
  );
}

function State({ operation }: { operation: Operation }) {
  const texts = operationsTexts();
  const { total, pending } = operation;
  const done = total - pending;
  return (
    <div className="operation">
      <p className="row">
        <strong role="status">{texts.statuses[operation.status]}</strong>
        <When at={operation.created_at} />
        {operation.started_by?.name !== undefined && (
          <span className="meta">{texts.by(operation.started_by.name)}</span>
        )}
      </p>
      <span
        className="progress progress-large"
        role="progressbar"
        aria-label={texts.progress}
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={done}
        aria-valuetext={texts.of(done, total)}
      >
        <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden>
          <rect className="fill-finished" width={(done / Math.max(1, total)) * 100} height={1} />
        </svg>
      </span>
      <p>{texts.of(done, total)}</p>
      <dl>
        {(["pending", "succeeded", "skipped", "failed"] as const).map((name) => (
          <div key={name} className="row">
            <dt>{texts.counts[name]}</dt>
            <dd className="number">{formatNumber(operation[name])}</dd>
          </div>
        ))}
      </dl>
      {operation.error && <p className="complaint">{operation.error.detail}</p>}
    </div>
  );
}

/** The executions that it could not act on: the first of them while it is under way, then all. */
function Failures({ operation }: { operation: Operation }) {
  const texts = operationsTexts();
  const asked = useInfiniteQuery({ ...failedItemsQuestion(operation.id), enabled: !isUnderWay(operation) });
  const items = asked.data?.pages.flatMap((page) => page.data) ?? operation.failures ?? [];
  return (
    <section className="operation-failures">
      <h2>{texts.failures}</h2>
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      <LongTable
        name={texts.failures}
        columns={[texts.execution, texts.why].map(titled)}
        rows={items.map((item) => ({ ...item, id: item.execution_id }))}
        renderRow={(item, index) => (
          <tr aria-rowindex={index}>
            <td>
              <Link to="/executions/$id" params={{ id: item.id }}>
                {shortId(item.id)}
              </Link>
            </td>
            <td>{item.error?.detail}</td>
          </tr>
        )}
      />
      <End list={asked} />
    </section>
  );
}
