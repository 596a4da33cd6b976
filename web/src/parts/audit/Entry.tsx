import { ActionIcon } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { AuditEntry } from "../../api/audit.ts";
import { formatExact, formatList, formatNumber } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { auditTexts } from "../../messages/audit.ts";
import { Copy } from "../Copy.tsx";
import { When } from "../Time.tsx";

/** An entry of the audit log as a row of a table, and below it its details when it is open. */
export function Entry({
  entry,
  index,
  open,
  current,
  toggle,
  choose,
}: {
  entry: AuditEntry;
  index: number;
  open: boolean;
  current: boolean;
  toggle: () => void;
  choose: () => void;
}) {
  const texts = auditTexts();
  const { actor, target } = entry;
  const what = texts.action(entry.action);
  return (
    <>
      <tr aria-rowindex={index} aria-current={current || undefined}>
        <td>
          <span className="row">
            <ActionIcon
              size={24}
              data-row={entry.id}
              aria-expanded={open}
              aria-label={texts.details(what, formatExact(new Date(entry.at)))}
              onFocus={choose}
              onClick={toggle}
            >
              {open ? <IconChevronDown aria-hidden size={16} /> : <IconChevronRight aria-hidden size={16} />}
            </ActionIcon>
            <When at={entry.at} />
          </span>
        </td>
        <td>
          {actor.kind === "user" && actor.id !== "" ? (
            <Link to="/admin/users/$id" params={{ id: actor.id }}>
              {actor.name}
            </Link>
          ) : (
            <>
              {actor.name === "" ? texts.unknown : actor.name} <span className="meta">{texts.kinds[actor.kind]}</span>
            </>
          )}
        </td>
        <td className="main" title={entry.action}>
          {what}
          {entry.count > 1 && <span className="meta"> {texts.times(formatNumber(entry.count))}</span>}
        </td>
        <td>{target && <Target target={target} />}</td>
        <td>{entry.address !== undefined && <code>{entry.address}</code>}</td>
      </tr>
      {open && (
        <tr className="opened">
          <td colSpan={5}>
            <Details entry={entry} />
          </td>
        </tr>
      )}
    </>
  );
}

type TargetOf = NonNullable<AuditEntry["target"]>;

/** What was changed, as a link where it has a page of its own. */
function Target({ target }: { target: TargetOf }) {
  const kind = <span className="meta">{auditTexts().targetKind(target.kind)}</span>;
  return (
    <>
      {kind} {targetLink(target)}
    </>
  );
}

function targetLink({ kind, id, name }: TargetOf): ReactNode {
  const params = { id };
  switch (kind) {
    case "user":
      return (
        <Link to="/admin/users/$id" params={params}>
          {name}
        </Link>
      );
    case "group":
      return (
        <Link to="/admin/groups/$id" params={params}>
          {name}
        </Link>
      );
    case "execution":
      return (
        <Link to="/executions/$id" params={params}>
          {name}
        </Link>
      );
    case "batch":
      return (
        <Link to="/batches/$id" params={params}>
          {name}
        </Link>
      );
    case "workflow": {
      const [namespace = "", own = ""] = name.split("/");
      return (
        <Link to="/workflows/$namespace/$name" params={{ namespace, name: own }}>
          {name}
        </Link>
      );
    }
    default:
      return name;
  }
}

/** What the row leaves out: the exact time, ids, and what was there before and is there now. */
function Details({ entry }: { entry: AuditEntry }) {
  const texts = auditTexts();
  const changes = Object.entries(entry.changes);
  const facts: [string, string | undefined][] = [
    [texts.filters.action, entry.action],
    [texts.requestId, entry.request_id],
    [texts.actorId, entry.actor.id === "" ? undefined : entry.actor.id],
    [texts.targetId, entry.target?.id],
    [texts.entryId, entry.id],
  ];
  return (
    <div className="entry">
      <dl className="facts">
        <dt>{texts.at}</dt>
        <dd>{formatExact(new Date(entry.at))}</dd>
        {entry.environment !== undefined && (
          <>
            <dt>{t().environment.label}</dt>
            <dd>{t().environment[entry.environment]}</dd>
          </>
        )}
        {facts.map(
          ([name, value]) =>
            value !== undefined && (
              <Fact key={name} name={name}>
                <code>{value}</code> <Copy text={value} what={name} />
              </Fact>
            ),
        )}
      </dl>
      {changes.length === 0 ? (
        <p className="meta">{texts.noChanges}</p>
      ) : (
        <table className="changes" aria-label={texts.changes}>
          <thead>
            <tr>
              <th scope="col">{texts.changed}</th>
              <th scope="col">{texts.before}</th>
              <th scope="col">{texts.now}</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(([name, { before, after }]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <Value name={name} value={before} />
                </td>
                <td>
                  <Value name={name} value={after} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/** A value before or after a change. Ids of users and groups lead to their pages. */
function Value({ name, value }: { name: string; value: unknown }) {
  const texts = auditTexts();
  if (value === null || value === undefined) {
    return <span className="meta">{texts.none}</span>;
  }
  if (typeof value === "string" && (name === "user_id" || name === "group_id")) {
    return (
      <Link to={name === "user_id" ? "/admin/users/$id" : "/admin/groups/$id"} params={{ id: value }}>
        <code>{value}</code>
      </Link>
    );
  }
  if (Array.isArray(value)) {
    return <code>{formatList(value.map(String))}</code>;
  }
  return <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>;
}
