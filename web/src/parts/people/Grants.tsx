import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { giveRole, takeRole, type Grant, type Holder, type NewRole } from "../../api/people.ts";
import { formatList } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Action } from "../Action.tsx";
import { Ask } from "../Ask.tsx";
import { LongTable, titled } from "../LongTable.tsx";
import { When } from "../Time.tsx";
import type { Done } from "../Undo.tsx";

/** A grant in a table; by is the group that a person has it by. */
export interface Held {
  id: string;
  grant: Grant;
  by?: string;
}

/** What a role is over, in words. */
export function overText(grant: Grant): string {
  const texts = peopleTexts();
  if (grant.namespace !== undefined) {
    return texts.inNamespace(grant.namespace);
  }
  return grant.workflow ?? grant.workflow_id ?? texts.overs.everything;
}

const holderOf = (grant: Grant): Holder =>
  grant.user_id === undefined ? { group_id: grant.group_id ?? "" } : { user_id: grant.user_id };

const same = (grant: Grant): NewRole => ({
  role: grant.role,
  environments: grant.environments,
  ...(grant.namespace !== undefined && { namespace: grant.namespace }),
  ...(grant.workflow_id !== undefined && { workflow_id: grant.workflow_id }),
});

/** Roles, with what takes them away. Whose they are is a column where they are of several. */
export function Grants({
  name,
  rows,
  holders = false,
  groups = false,
  atEnd,
  done,
}: {
  name: string;
  rows: readonly Held[];
  /** Show who has each. */
  holders?: boolean;
  /** Show by which group. */
  groups?: boolean;
  atEnd?: () => void;
  done: (done: Done) => void;
}) {
  const texts = peopleTexts();
  const [taking, setTaking] = useState<Grant>();
  const take = async (grant: Grant) => {
    await takeRole(grant.id);
    setTaking(undefined);
    const once = crypto.randomUUID();
    done({
      text: texts.taken(texts.roles[grant.role], grant.holder),
      button: texts.giveAgain,
      undo: () => giveRole(holderOf(grant), same(grant), once),
    });
  };
  return (
    <>
      <LongTable
        name={name}
        columns={[
          ...(holders ? [texts.who] : []),
          texts.role,
          texts.over,
          t().environment.label,
          ...(groups ? [texts.by] : []),
          texts.given,
          t().list.actions,
        ].map(titled)}
        rows={rows}
        {...(atEnd && { atEnd })}
        renderRow={({ grant, by }, index) => (
          <tr aria-rowindex={index}>
            {holders && (
              <td>
                <HolderLink grant={grant} />
              </td>
            )}
            <td className={holders ? undefined : "main"}>{texts.roles[grant.role]}</td>
            <td>{overText(grant)}</td>
            <td>{formatList(grant.environments.map((env) => t().environment[env]))}</td>
            {groups && (
              <td>
                {by !== undefined && grant.group_id !== undefined && (
                  <Link to="/admin/groups/$id" params={{ id: grant.group_id }}>
                    {texts.byGroup(by)}
                  </Link>
                )}
              </td>
            )}
            <td>
              <When at={grant.created_at} />
            </td>
            <td>
              {by === undefined && (
                <Action
                  variant="default"
                  aria-label={texts.takeTitle(texts.roles[grant.role], overText(grant), grant.holder)}
                  onClick={() => setTaking(grant)}
                >
                  {texts.take}
                </Action>
              )}
            </td>
          </tr>
        )}
      />
      {taking && (
        <Ask
          danger
          title={texts.takeTitle(texts.roles[taking.role], overText(taking), taking.holder)}
          button={texts.take}
          close={() => setTaking(undefined)}
          act={() => take(taking)}
        >
          <p>{taking.group_id === undefined ? texts.takeHelp : texts.takeGroupHelp}</p>
        </Ask>
      )}
    </>
  );
}

function HolderLink({ grant }: { grant: Grant }) {
  if (grant.user_id !== undefined) {
    return (
      <span className="stacked">
        <Link className="main" to="/admin/users/$id" params={{ id: grant.user_id }} data-row={grant.id}>
          {grant.holder}
        </Link>
        <span className="meta">{grant.email}</span>
      </span>
    );
  }
  return (
    <span className="stacked">
      <Link className="main" to="/admin/groups/$id" params={{ id: grant.group_id ?? "" }} data-row={grant.id}>
        {grant.holder}
      </Link>
      <span className="meta">{peopleTexts().group}</span>
    </span>
  );
}
