import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Problem } from "../api/problem.ts";
import { readinessQuestion, systemQuestion, type Finding, type System } from "../api/system.ts";
import { formatClock, formatDuration, formatNumber, formatShare } from "../messages/format.ts";
import { healthTexts } from "../messages/health.ts";
import { t } from "../messages/index.ts";
import { formatBytes } from "../parts/amount.ts";
import { Copy } from "../parts/Copy.tsx";
import { StateIcon } from "../parts/icons.tsx";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/health.css";

/** What waits and runs in the installation, what it has left, and what is wrong with it. */
export default function Health() {
  const texts = healthTexts();
  const asked = useQuery(systemQuestion());
  const system = asked.data;
  return (
    <Page title={t().nav.health}>
      <p className="lead">
        {texts.about} {system && <span className="meta">{texts.asOf(formatClock(new Date(system.as_of)))}</span>}
      </p>
      {asked.isLoadingError && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {asked.isLoading && <Waiting />}
      {system && (
        <>
          <Problems system={system} />
          <div className="halves">
            <Server system={system} />
            <Work system={system} />
          </div>
          <div className="halves">
            <Disks disks={system.disks} />
            <Processes processes={system.processes} />
          </div>
          <Findings findings={system.findings} />
        </>
      )}
    </Page>
  );
}

/** Whether something is as it should be: icon, word and colour. */
function Verdict({ ok, children }: { ok: boolean; children: ReactNode }) {
  const state = ok ? "finished" : "error";
  return (
    <span className={`state state-${state}`}>
      <StateIcon state={state} />
      {children}
    </span>
  );
}

/** All that is wrong comes first. */
function Problems({ system }: { system: System }) {
  const texts = healthTexts();
  const wrong = system.findings.filter(({ ok }) => !ok);
  const slow = system.writer_lag_ms === undefined;
  if (!slow && !system.storage_reserve && wrong.length === 0) {
    return (
      <p role="status" className="verdict">
        <Verdict ok>{texts.allWell}</Verdict>
      </p>
    );
  }
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">{texts.problems}</h2>
      <ul className="damages">
        {slow && (
          <li>
            <Verdict ok={false}>{texts.slow}</Verdict>
          </li>
        )}
        {system.storage_reserve && (
          <li>
            <Verdict ok={false}>{texts.reserve}</Verdict>
          </li>
        )}
        {wrong.map((finding) => (
          <li key={finding.what}>
            <Verdict ok={false}>
              <What finding={finding} />
            </Verdict>
            <Found finding={finding} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What was looked at. What has no translation is in the English of the server. */
function What({ finding: { what } }: { finding: Finding }) {
  const name = healthTexts().finding(what);
  return <span lang={name === what ? "en" : undefined}>{name}</span>;
}

/** What was found, in the English of the server: each damage on a line, where there may be several. */
function Found({ finding }: { finding: Finding }) {
  return (
    <div lang="en">
      {finding.damages ? (
        <ul className="plain">
          {finding.damages.map((damage) => (
            <li key={damage}>{damage}</li>
          ))}
        </ul>
      ) : (
        finding.detail
      )}
    </div>
  );
}

function Server({ system }: { system: System }) {
  const texts = healthTexts();
  const lag = system.writer_lag_ms;
  return (
    <section aria-labelledby="server">
      <h2 id="server">{texts.server}</h2>
      <dl className="facts">
        <dt>{texts.requests}</dt>
        <dd>
          <Readiness />
        </dd>
        <dt>{texts.version}</dt>
        <dd>
          <code>{system.version}</code>
        </dd>
        <dt>{texts.engine}</dt>
        <dd>{texts.engines[system.engine]}</dd>
        <dt>{texts.database}</dt>
        <dd>{texts.databases[system.database]}</dd>
        <dt>{texts.started}</dt>
        <dd>
          <When at={system.started_at} />
        </dd>
        <dt>{texts.lag}</dt>
        <dd className="number">{lag === undefined ? texts.moreThan(formatDuration(2000)) : formatDuration(lag)}</dd>
        <dt>{texts.backup}</dt>
        <dd>{system.last_backup_at === undefined ? texts.noBackup : <When at={system.last_backup_at} />}</dd>
      </dl>
    </section>
  );
}

/** Whether requests are taken: what load balancers ask, too. */
function Readiness() {
  const texts = healthTexts();
  const asked = useQuery(readinessQuestion());
  if (asked.error) {
    return (
      <Verdict ok={false}>
        {texts.notReady} {asked.error instanceof Problem && <span lang="en">{asked.error.message}</span>}
      </Verdict>
    );
  }
  const degraded = asked.data?.degraded ?? [];
  if (degraded.length > 0) {
    return <Verdict ok={false}>{degraded.map(texts.degraded).join(", ")}</Verdict>;
  }
  return asked.data && <Verdict ok>{texts.ready}</Verdict>;
}

const kinds = ["active", "queued", "ready", "parked", "delayed"] as const;

/** So many of each kind are counted at most. */
const counted = 10_000;

function Work({ system }: { system: System }) {
  const texts = healthTexts();
  const amount = (n: number) => (n >= counted ? texts.atLeast(counted) : formatNumber(n));
  const { executions, outbox } = system;
  return (
    <section aria-labelledby="work">
      <h2 id="work">{texts.work}</h2>
      <dl className="facts">
        {kinds.map((kind) => (
          <div key={kind} className="amount">
            <dt>{texts.kinds[kind]}</dt>
            <dd className="number">{amount(executions[kind])}</dd>
          </div>
        ))}
        <div className="amount">
          <dt>{texts.oldest}</dt>
          <dd>{system.oldest_ready_at === undefined ? texts.none : <When at={system.oldest_ready_at} />}</dd>
        </div>
        {system.engine === "embedded" ? (
          <div className="amount">
            <dt>{texts.timers}</dt>
            <dd className="number">{amount(system.timers_due)}</dd>
          </div>
        ) : (
          <>
            <div className="amount">
              <dt>{texts.messages}</dt>
              <dd className="number">
                {amount(outbox?.messages ?? 0)}
                {outbox && outbox.messages > 0 && (
                  <span className="meta"> {texts.late(formatDuration(outbox.late_ms))}</span>
                )}
              </dd>
            </div>
            <div className="amount">
              <dt>{texts.workers}</dt>
              <dd className="number">{system.workers === undefined ? texts.unknown : formatNumber(system.workers)}</dd>
            </div>
          </>
        )}
      </dl>
    </section>
  );
}

function Disks({ disks }: { disks: System["disks"] }) {
  const texts = healthTexts();
  return (
    <section aria-labelledby="disks">
      <h2 id="disks">{texts.disks}</h2>
      <table className="list" aria-label={texts.disks}>
        <thead>
          <tr>
            <th scope="col">{texts.folder}</th>
            <th scope="col">{texts.free}</th>
            <th scope="col">{texts.use}</th>
          </tr>
        </thead>
        <tbody>
          {disks.map(({ folder, free_bytes: free, total_bytes: total }) => {
            const share = formatShare(total === 0 ? 0 : (total - free) / total);
            return (
              <tr key={folder}>
                <td className="main">
                  <code>{folder}</code>
                </td>
                <td className="number">{texts.freeOf(formatBytes(free), formatBytes(total))}</td>
                <td>
                  <meter
                    min={0}
                    max={total}
                    high={total * 0.95}
                    value={total - free}
                    aria-label={texts.used(share)}
                    title={share}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function Processes({ processes }: { processes: System["processes"] }) {
  const texts = healthTexts();
  return (
    <section aria-labelledby="processes">
      <h2 id="processes">{texts.processes}</h2>
      <table className="list" aria-label={texts.processes}>
        <thead>
          <tr>
            <th scope="col">{texts.process}</th>
            <th scope="col">{texts.seen}</th>
          </tr>
        </thead>
        <tbody>
          {processes.map(({ name, seen_at: seen, standby }, index) => (
            <tr key={`${index} ${name}`}>
              <td className="main">{name}</td>
              <td>{standby === true ? texts.standby : <When at={seen} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="meta">{texts.processesHelp}</p>
    </section>
  );
}

const doctor = "chargehand doctor --deep";

function Findings({ findings }: { findings: readonly Finding[] }) {
  const texts = healthTexts();
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">{texts.findings}</h2>
      <p className="lead">
        {texts.findingsHelp}{" "}
        <span className="command">
          <code>{doctor}</code>
          <Copy text={doctor} what={doctor} />
        </span>
      </p>
      <table className="list" aria-label={texts.findings}>
        <thead>
          <tr>
            <th scope="col">{texts.what}</th>
            <th scope="col">{texts.state}</th>
            <th scope="col">{texts.found}</th>
          </tr>
        </thead>
        <tbody>
          {findings.map((finding) => (
            <tr key={finding.what}>
              <td className="main">
                <What finding={finding} />
              </td>
              <td>
                <Verdict ok={finding.ok}>{finding.ok ? texts.ok : texts.wrong}</Verdict>
              </td>
              <td className="found">
                <Found finding={finding} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
