import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { newestBatchesQuestion } from "../api/batches.ts";
import { useMay } from "../api/me.ts";
import { useWorkflowNames } from "../api/names.ts";
import { overviewQuestion, spans, type FailureGroup, type Overview, type Span } from "../api/overview.ts";
import { taskCountsQuestion } from "../api/tasks.ts";
import { formatBucket, formatClock, formatDuration, formatNumber } from "../messages/format.ts";
import { batchesTexts } from "../messages/batches.ts";
import { overviewTexts } from "../messages/overview.ts";
import { checked } from "../parts/checked.ts";
import { Bars } from "../parts/Bars.tsx";
import { shortId } from "../parts/Copy.tsx";
import { filterOf } from "../parts/filter.ts";
import { Failure } from "../parts/Notice.tsx";
import { Installation } from "../parts/overview/Installation.tsx";
import { Quiet } from "../parts/overview/Quiet.tsx";
import { Workflows } from "../parts/overview/Workflows.tsx";
import { Page } from "../parts/Page.tsx";
import { Progress, ProgressText } from "../parts/Progress.tsx";
import type { State } from "../parts/state.ts";
import { StateMark } from "../parts/StateMark.tsx";
import { When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/overview.css";

const route = getRouteApi("/");

/** Overview: what needs a person, what happened lately, what happens now. */
export default function OverviewPage() {
  const { span = "24h" } = route.useMatch({ select: checked });
  const asked = useQuery(overviewQuestion(span));
  const texts = overviewTexts();
  const { data } = asked;
  const quiet = data && data.total.started === 0 && data.failures.data.length === 0 && !data.now.oldest;
  return (
    <Page title={texts.title} actions={<Spans span={span} />}>
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      <Installation />
      {asked.isLoading && <Waiting />}
      {data && !quiet && (
        <>
          <Needs overview={data} span={span} />
          <Lately overview={data} />
          <Workflows overview={data} />
        </>
      )}
      {data && quiet && <Quiet />}
      {data && (
        <div className="halves">
          <Now overview={data} />
          <Running />
        </div>
      )}
    </Page>
  );
}

function Spans({ span }: { span: Span }) {
  return (
    <nav className="segments" aria-label={overviewTexts().span}>
      {(Object.keys(spans) as Span[]).map((name) => (
        <Link
          key={name}
          to="/"
          search={name === "24h" ? {} : { span: name }}
          activeOptions={{ exact: true }} // else 24 hours, which add nothing to the address, would be current always
          activeProps={{}}
          aria-current={name === span ? "true" : undefined}
        >
          {overviewTexts().spans[name]}
        </Link>
      ))}
    </nav>
  );
}

/** What a person should look at first: executions that wait for people, and what failed most. */
function Needs({ overview, span }: { overview: Overview; span: Span }) {
  const texts = overviewTexts();
  const { now, failures, total } = overview;
  const groups = failures.data.slice(0, 5);
  const names = useWorkflowNames(groups.map((group) => group.workflow_id));
  const nothing = now.human === 0 && groups.length === 0;
  const may = useMay()("tasks:read");
  const counts = useQuery({ ...taskCountsQuestion(30), enabled: may }).data;
  const tasks = counts?.mine;
  return (
    <section aria-labelledby="needs">
      <h2 id="needs">{texts.needs}</h2>
      {nothing && !tasks?.count && <p>{texts.nothing}</p>}
      <ul className="needs">
        {tasks !== undefined && tasks.count > 0 && (
          <li>
            <StateMark state="person" />
            <Link className="main" to="/inbox" search={{}}>
              {texts.tasks(atLeast(tasks.count, tasks.at_least), tasks.count === 1)}
            </Link>
            {counts !== undefined && counts.overdue.count > 0 && (
              <Link to="/inbox" search={{ view: "all", overdue: "true" }}>
                {texts.overdue(atLeast(counts.overdue.count, counts.overdue.at_least))}
              </Link>
            )}
          </li>
        )}
        {now.human > 0 && (
          <li>
            <StateMark state="person" />
            <Link className="main" to="/executions" search={{ filter: "state:person" }}>
              {texts.people(atLeast(now.human, now.at_least), now.human === 1)}
            </Link>
          </li>
        )}
        {groups.map((group) => (
          <Group key={group.sample_id} group={group} name={names.get(group.workflow_id)} from={overview.from} />
        ))}
      </ul>
      {total.error > 0 && (
        <p>
          <Link to="/executions" search={{ filter: `state:error from:-${span}` }}>
            {texts.allFailed}
          </Link>
        </p>
      )}
    </section>
  );
}

/** Executions that failed in the same way. */
function Group({ group, name, from }: { group: FailureGroup; name: string | undefined; from: string }) {
  const texts = overviewTexts();
  const what = name ?? shortId(group.workflow_id);
  const why = [group.code, group.detail].filter(Boolean).join(": ");
  const count = texts.failed(group.count);
  return (
    <li>
      <StateMark state="error" />
      <span className="why">
        {name === undefined ? (
          <span className="main">{`${count} · ${what}`}</span>
        ) : (
          <Link
            className="main"
            to="/executions"
            search={{ filter: filterOf(group, name, [{ key: "from", value: from }]) }}
          >
            {`${count} · ${what}`}
          </Link>
        )}{" "}
        {group.reference !== undefined && <code>{group.reference}</code>} <span className="cut">{why}</span>
      </span>
      <span className="meta">
        {texts.last} <When at={group.last_at} />
      </span>
      <Link to="/executions/$id" params={{ id: group.sample_id }} aria-label={texts.exampleOf(`${what} ${why}`)}>
        {texts.example}
      </Link>
    </li>
  );
}

/** What ended in the time, and when. */
function Lately({ overview }: { overview: Overview }) {
  const texts = overviewTexts();
  const { total, step_seconds: step } = overview;
  const bars = overview.buckets.map((bucket) => {
    const end = new Date(Date.parse(bucket.at) + step * 1000).toISOString();
    return { ...bucket, time: formatBucket(new Date(bucket.at), step), filter: `from:${bucket.at} to:${end}` };
  });
  return (
    <section aria-labelledby="lately">
      <div className="section-head">
        <h2 id="lately">{texts.ended}</h2>
        {overview.as_of !== undefined && (
          <span className="meta">{texts.asOf(formatClock(new Date(overview.as_of)))}</span>
        )}
      </div>
      <p className="row totals">
        {(["finished", "error", "cancelled"] as const).map((state) => (
          <span key={state}>
            <StateMark state={state} /> <strong className="number">{formatNumber(total[state])}</strong>
          </span>
        ))}
        {total.duration_p95_ms !== undefined && (
          <span className="meta">{texts.p95(formatDuration(total.duration_p95_ms))}</span>
        )}
      </p>
      <Bars bars={bars} label={texts.chart} />
    </section>
  );
}

const atLeast = (n: number, more: boolean) => (more && n >= 10_000 ? `${formatNumber(n)}+` : formatNumber(n));

function Now({ overview }: { overview: Overview }) {
  const texts = overviewTexts();
  const { now } = overview;
  const rows: [State, number][] = [
    ["queued", now.queued],
    ["running", now.running],
    ["waiting", now.waiting],
  ];
  return (
    <section aria-labelledby="now">
      <h2 id="now">{texts.now}</h2>
      <ul className="needs">
        {rows.map(([state, count]) => (
          <li key={state}>
            <Link to="/executions" search={{ filter: `state:${state}` }}>
              <StateMark state={state} />
            </Link>
            <strong className="number">{atLeast(count, now.at_least)}</strong>
          </li>
        ))}
        {now.delayed > 0 && (
          <li>
            <strong className="number">{atLeast(now.delayed, now.at_least)}</strong> {texts.delayed}
          </li>
        )}
      </ul>
      {now.oldest && (
        <p className="meta">
          {texts.oldest}{" "}
          <Link to="/executions/$id" params={{ id: now.oldest.id }}>
            <When at={now.oldest.created_at} />
          </Link>
        </p>
      )}
    </section>
  );
}

function Running() {
  const texts = overviewTexts();
  const asked = useQuery(newestBatchesQuestion("", 100));
  const running = (asked.data?.data ?? [])
    .filter(({ phase }) => phase === "pending" || phase === "running")
    .slice(0, 8);
  const names = useWorkflowNames(running.map((batch) => batch.workflow_id));
  return (
    <section aria-labelledby="batches">
      <h2 id="batches">{texts.batches}</h2>
      {asked.isError && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isSuccess && running.length === 0 && <p>{texts.noBatches}</p>}
      <ul className="needs">
        {running.map((batch) => (
          <li key={batch.id}>
            <Link to="/batches/$id" params={{ id: batch.id }}>
              {names.get(batch.workflow_id) ?? batchesTexts().one(shortId(batch.id))}
            </Link>
            <code className="meta">{shortId(batch.id)}</code>
            <Progress batch={batch} />
            <ProgressText batch={batch} />
          </li>
        ))}
      </ul>
    </section>
  );
}
