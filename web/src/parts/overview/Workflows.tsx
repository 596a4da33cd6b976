import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Overview, WorkflowTotal } from "../../api/overview.ts";
import { formatDuration, formatExact, formatNumber } from "../../messages/format.ts";
import { overviewTexts } from "../../messages/overview.ts";
import { print, type Term } from "../filter.ts";

/** The workflows that failed most, and those that took longest. Each leads to its executions of the time. */
export function Workflows({ overview }: { overview: Overview }) {
  const texts = overviewTexts();
  const { by_failures: failing, by_p95: slowest, count, compared } = overview.workflows;
  const from = { key: "from", value: overview.from };
  const failed = { key: "state", value: "error" };
  return (
    <>
      <div className="halves">
        <Ranking title={texts.failing} empty={texts.noneFailed} columns={[texts.failures, texts.allEnded]}>
          {failing.map((one) => (
            <Row key={one.workflow_id} of={one} terms={[failed, from]} values={[formatNumber(one.error), ended(one)]} />
          ))}
        </Ranking>
        <Ranking title={texts.slowest} empty={texts.noneEnded} columns={[texts.percentile, texts.median]}>
          {slowest.map((one) => (
            <Row
              key={one.workflow_id}
              of={one}
              terms={[from]}
              values={[duration(one.duration_p95_ms), duration(one.duration_p50_ms)]}
            />
          ))}
        </Ranking>
      </div>
      {compared < count && <p className="meta">{texts.compared(compared, count)}</p>}
      <Incomplete overview={overview} />
    </>
  );
}

/** Says from when on workflows are counted, where that is not the whole time. */
function Incomplete({ overview: { workflows } }: { overview: Overview }) {
  const texts = overviewTexts();
  const { at_least: more, examined_until: until } = workflows;
  return more ? (
    <p className="meta">
      {until === undefined ? texts.uncounted : texts.uncountedBefore(formatExact(new Date(until)))}
    </p>
  ) : null;
}

const ended = (one: WorkflowTotal) => formatNumber(one.finished + one.error + one.cancelled);
const duration = (milliseconds: number | undefined) => (milliseconds === undefined ? "" : formatDuration(milliseconds));

interface RankingProps {
  title: string;
  empty: string;
  columns: readonly string[];
  children: readonly ReactNode[];
}

function Ranking({ title, empty, columns, children }: RankingProps) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children.length === 0 ? (
        <p>{empty}</p>
      ) : (
        <table className="numbers ranking" aria-label={title}>
          <thead>
            <tr>
              <th scope="col">{overviewTexts().workflow}</th>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      )}
    </section>
  );
}

function Row({ of, terms, values }: { of: WorkflowTotal; terms: readonly Term[]; values: readonly [string, string] }) {
  const filter = print([{ key: "workflow", value: of.workflow }, ...terms]);
  return (
    <tr>
      <th scope="row">
        <Link to="/executions" search={{ filter }}>
          {of.workflow}
        </Link>
      </th>
      <td>{values[0]}</td>
      <td>{values[1]}</td>
    </tr>
  );
}
