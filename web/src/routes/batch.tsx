import { IconBan } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Suspense, useEffect, useState } from "react";
import { batchFailuresQuestion, batchFile, batchQuestion, isOver, type Batch } from "../api/batches.ts";
import { countPagesIn } from "../api/items.ts";
import { useMay } from "../api/me.ts";
import { useWorkflowNames } from "../api/names.ts";
import { every, queries } from "../api/query.ts";
import { follow } from "../api/follow.ts";
import { batchesTexts } from "../messages/batches.ts";
import { formatNumber } from "../messages/format.ts";
import { checked } from "../parts/checked.ts";
import { Action } from "../parts/Action.tsx";
import { readFields, writeFields } from "../parts/batch/fields.ts";
import { Grid } from "../parts/batch/Grid.tsx";
import { RetryGroup } from "../parts/executions/SelectionBar.tsx";
import { shortId } from "../parts/Copy.tsx";
import { Labels } from "../parts/Labels.tsx";
import { WorkflowLink } from "../parts/WorkflowLink.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { countsOf, Progress, ProgressText, StateOfBatch } from "../parts/Progress.tsx";
import { StateMark } from "../parts/StateMark.tsx";
import { Took, When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/batch.css";
import { later } from "../parts/later.tsx";

const route = getRouteApi("/batches/$id");
const Cancel = later(() => import("../parts/batch/Cancel.tsx"));

/** How often a running batch is asked for: often while no stream tells of it. */
const again = (told: boolean) => every(told ? 60_000 : 5000);

/** What is shown changes four times a second at most, and what belongs to it is asked for once in two: each page of it. */
const drawn = 250;
const gathered = 2000;

/** A batch: how far it is, what failed, and its items. */
export default function BatchPage() {
  const { id } = route.useParams();
  const { state, fields } = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/batches/$id" });
  const [asking, setAsking] = useState(false);
  const may = useMay();
  const texts = batchesTexts();
  const [told, setTold] = useState(false);
  const asked = useQuery({
    ...batchQuestion(id),
    refetchInterval: (query) => (query.state.data && isOver(query.state.data) ? false : again(told)(query)),
  });
  const batch = asked.data;
  useFollowing(id, batch !== undefined && !isOver(batch), setTold);
  return (
    <Page
      title={texts.one(shortId(id))}
      {...(batch &&
        !isOver(batch) &&
        may("executions:manage") && {
          actions: (
            <Action variant="default" leftSection={<IconBan aria-hidden size={14} />} onClick={() => setAsking(true)}>
              {texts.cancel}
            </Action>
          ),
        })}
    >
      {asked.isError && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isLoading && <Waiting />}
      {batch && (
        <>
          <Head batch={batch} />
          <Failures batch={batch} told={told} />
          <section aria-labelledby="items">
            <div className="section-head">
              <h2 id="items">{texts.items}</h2>
              <span className="row">
                <Link to="/executions" search={{ filter: `batch:${id}` }}>
                  {texts.executions}
                </Link>
                {may("tasks:read") && !isOver(batch) && (
                  <Link to="/inbox" search={{ view: "all", batch: id }}>
                    {texts.tasks}
                  </Link>
                )}
                <a href={batchFile(id)} download={`batch-${id}.json`}>
                  {texts.download}
                </a>
              </span>
            </div>
            <Grid
              batch={batch}
              state={state}
              fields={readFields(fields ?? "")}
              told={told}
              choose={(next, names) =>
                void navigate({
                  search: { ...(next && { state: next }), ...(names.length > 0 && { fields: writeFields(names) }) },
                  replace: true,
                  resetScroll: false,
                })
              }
            />
          </section>
          <Suspense>{asking && <Cancel batch={batch} close={() => setAsking(false)} />}</Suspense>
        </>
      )}
    </Page>
  );
}

/**
 * Puts what the server tells of a running batch into the page, and asks then for what belongs to it. Tell says whether
 * the stream is there.
 */
function useFollowing(id: string, running: boolean, tell: (told: boolean) => void): void {
  useEffect(() => {
    if (!running) {
      return undefined;
    }
    const own = batchQuestion(id).queryKey;
    let newest: Batch | undefined;
    let drawing: ReturnType<typeof setTimeout> | undefined;
    let asking: ReturnType<typeof setTimeout> | undefined;
    const ask = () => {
      asking = undefined;
      void queries.invalidateQueries({
        queryKey: own,
        predicate: ({ queryKey }) => ["items", "items-in", "failures"].includes(String(queryKey[own.length])),
      });
    };
    const draw = () => {
      drawing = undefined;
      if (newest) {
        queries.setQueryData(own, newest);
        if (isOver(newest)) {
          void queries.invalidateQueries({ queryKey: own });
        }
      }
    };
    const stream = follow(
      [`batch:${id}`],
      (change) => {
        tell(true);
        newest = change.batch ?? newest;
        drawing ??= setTimeout(draw, drawn);
        asking ??= setTimeout(ask, gathered * Math.max(1, countPagesIn(id)));
      },
      tell,
    );
    return () => {
      clearTimeout(drawing);
      clearTimeout(asking);
      stream.close();
      tell(false);
    };
  }, [id, running, tell]);
}

function Head({ batch }: { batch: Batch }) {
  const texts = batchesTexts();
  const name = useWorkflowNames([batch.workflow_id]).get(batch.workflow_id);
  const labelled = Object.keys(batch.labels ?? {}).length > 0;
  return (
    <section>
      <p className="row">
        <StateOfBatch batch={batch} /> <ProgressText batch={batch} />
        <span>{texts.of(batch.completed + batch.failed, batch.total)}</span>
      </p>
      <Progress batch={batch} large />
      <ul className="row counts" aria-label={texts.progress}>
        {countsOf(batch)
          .filter(({ count }) => count > 0)
          .map(({ state, count }) => (
            <li key={state}>
              <StateMark state={state} /> <strong className="number">{formatNumber(count)}</strong>
            </li>
          ))}
      </ul>
      <dl className="facts">
        <dt>{texts.workflow}</dt>
        <dd>
          {name === undefined ? <code>{shortId(batch.workflow_id)}</code> : <WorkflowLink name={name} />}{" "}
          <span className="meta">{batch.workflow_version}</span>
        </dd>
        <dt>{texts.columns.created}</dt>
        <dd>
          <When at={batch.created_at} /> {batch.started_by?.name !== undefined && texts.by(batch.started_by.name)}
        </dd>
        <dt>{texts.took}</dt>
        <dd>
          <Took from={batch.started_at} to={batch.completed_at} />
        </dd>
        <dt>{texts.speed}</dt>
        <dd>
          {texts.atOnce(batch.effective_concurrency)}
          {batch.effective_concurrency !== batch.concurrency && ` (${texts.asked(batch.concurrency)})`}
        </dd>
        {labelled && (
          <>
            <dt>{texts.labels}</dt>
            <dd className="row">
              <Labels labels={batch.labels} />
            </dd>
          </>
        )}
      </dl>
    </section>
  );
}

/** What failed, in groups of the same way. */
function Failures({ batch, told }: { batch: Batch; told: boolean }) {
  const texts = batchesTexts();
  const manages = useMay()("executions:manage");
  const failed = batch.failed - batch.cancelled;
  const asked = useQuery({
    ...batchFailuresQuestion(batch.id),
    enabled: failed > 0,
    refetchInterval: isOver(batch) ? false : again(told),
  });
  if (failed === 0) {
    return null;
  }
  return (
    <section aria-labelledby="failures">
      <h2 id="failures">{texts.failures}</h2>
      {asked.isError && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      <ul className="needs">
        {asked.data?.data.map((group) => (
          <li key={group.sample_id}>
            <StateMark state="error" />
            <Link
              className="main"
              to="/executions"
              search={{ filter: `state:error batch:${batch.id} error:${group.code} failure:${group.failure}` }}
            >
              {texts.failed(group.count)}
            </Link>
            <span className="why">
              {group.reference !== undefined && <code>{group.reference}</code>}{" "}
              {[group.code, group.detail].filter(Boolean).join(": ")}
            </span>
            <Link
              to="/executions/$id"
              params={{ id: group.sample_id }}
              aria-label={texts.exampleOf(group.detail ?? group.code)}
            >
              {texts.example}
            </Link>
            {manages && (
              <RetryGroup
                query={() => ({
                  batch_id: [batch.id],
                  phase: ["faulted"],
                  error_code: [group.code],
                  failure: [group.failure],
                })}
              />
            )}
          </li>
        ))}
      </ul>
      {asked.data?.at_least === true && <p className="meta">{texts.atLeast}</p>}
    </section>
  );
}
