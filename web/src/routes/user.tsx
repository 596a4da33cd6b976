import { useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import {
  groupQuestion,
  heldQuestion,
  joinGroup,
  leaveGroup,
  userQuestion,
  type Group,
  type User,
} from "../api/people.ts";
import { formatExact, formatList } from "../messages/format.ts";
import { peopleTexts } from "../messages/people.ts";
import { Action } from "../parts/Action.tsx";
import { Ask } from "../parts/Ask.tsx";
import { Copy } from "../parts/Copy.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { GiveRole } from "../parts/people/GiveRole.tsx";
import { Grants, type Held } from "../parts/people/Grants.tsx";
import { GroupField } from "../parts/people/GroupField.tsx";
import { UserActions } from "../parts/people/UserActions.tsx";
import { When } from "../parts/Time.tsx";
import { Undo, type Done } from "../parts/Undo.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/people.css";

const route = getRouteApi("/admin/users/$id");

/** A user of the account: what they may do, by what they act, and what ends that. */
export default function UserPage() {
  const { id } = route.useParams();
  const user = useQuery(userQuestion(id));
  if (user.data) {
    return <Shown user={user.data} />;
  }
  return (
    <Page title={peopleTexts().user}>
      {user.error ? <Failure error={user.error} retry={() => void user.refetch()} /> : <Waiting />}
    </Page>
  );
}

function Shown({ user }: { user: User }) {
  const texts = peopleTexts();
  const own = useQuery(heldQuestion({ user_id: user.id }));
  const groups = useQueries({ queries: user.groups.map((group) => groupQuestion(group)) });
  const byGroups = useQueries({ queries: user.groups.map((group) => heldQuestion({ group_id: group })) });
  const [giving, setGiving] = useState(false);
  const [done, setDone] = useState<Done>();
  const held: Held[] = [
    ...(own.data?.data ?? []).map((grant) => ({ id: grant.id, grant })),
    ...byGroups.flatMap((each) => (each.data?.data ?? []).map((grant) => ({ id: grant.id, grant, by: grant.holder }))),
  ];
  const asked = [own, ...byGroups];
  const failed = asked.find((each) => each.error);
  const known = groups.flatMap((each) => (each.data ? [each.data] : []));
  return (
    <Page
      title={user.name}
      actions={<UserActions user={user} roles={own.data?.data.length} groups={user.groups.length} />}
    >
      {done && <Undo key={done.text} done={done} close={() => setDone(undefined)} />}
      <Facts user={user} />
      <section>
        <div className="page-head">
          <h2>{texts.rolesTitle}</h2>
          <Action onClick={() => setGiving(true)}>{texts.give}</Action>
        </div>
        {failed && <Failure error={failed.error} retry={() => asked.forEach((each) => void each.refetch())} />}
        {asked.some((each) => each.isLoading) && <Waiting />}
        {held.length > 0 && (
          <Grants name={texts.rolesTitle} rows={held} groups={user.groups.length > 0} done={setDone} />
        )}
        {!failed && asked.every((each) => each.isSuccess) && held.length === 0 && <Empty text={texts.noRoles} />}
      </section>
      <Groups user={user} groups={known} failed={groups.find((each) => each.error)?.error} done={setDone} />
      {giving && (
        <GiveRole
          to={{ kind: "user", id: user.id, name: user.name, email: user.email }}
          close={() => setGiving(false)}
        />
      )}
    </Page>
  );
}

function Facts({ user }: { user: User }) {
  const texts = peopleTexts();
  const ends = user.invitation_expires_at;
  return (
    <>
      <dl className="facts">
        <dt>{texts.email}</dt>
        <dd>
          {user.email} <Copy text={user.email} what={texts.email} />
        </dd>
        <dt>{texts.status}</dt>
        <dd>
          {texts.statusHelp[user.status]}
          {user.status === "invited" &&
            ` ${ends === undefined ? texts.invitationOver : texts.invitationEnds(formatExact(new Date(ends)))}`}
        </dd>
        <dt>{texts.methods}</dt>
        <dd>{user.methods.length === 0 ? texts.noMethods : formatList(user.methods.map(texts.method))}</dd>
        <dt>{texts.access}</dt>
        <dd>{texts.accessNow(user.sessions ?? 0, user.personal_keys ?? 0)}</dd>
        <dt>{texts.seen}</dt>
        <dd>{user.last_seen_at === undefined ? texts.never : <When at={user.last_seen_at} />}</dd>
        <dt>{texts.since}</dt>
        <dd>
          <When at={user.created_at} />
        </dd>
      </dl>
      <p className="row">
        <Link to="/admin/audit" search={{ actor: user.id }}>
          {texts.didLink}
        </Link>
        <Link to="/admin/audit" search={{ target: user.id }}>
          {texts.doneToLink}
        </Link>
      </p>
    </>
  );
}

function Groups({
  user,
  groups,
  failed,
  done,
}: {
  user: User;
  groups: readonly Group[];
  failed: unknown;
  done: (done: Done) => void;
}) {
  const texts = peopleTexts();
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<Group>();
  return (
    <section>
      <div className="page-head">
        <h2>{texts.groups}</h2>
        <Action variant="default" onClick={() => setAdding(true)}>
          {texts.addToGroup}
        </Action>
      </div>
      {failed !== undefined && failed !== null && <Failure error={failed} />}
      {user.groups.length === 0 && <Empty text={texts.inNoGroup} />}
      {groups.length > 0 && (
        <ul className="plain">
          {groups.map((group) => (
            <li key={group.id} className="row">
              <Link className="main" to="/admin/groups/$id" params={{ id: group.id }}>
                {group.name}
              </Link>
              {group.source === undefined ? (
                <Action
                  variant="default"
                  aria-label={texts.leaveTitle(user.name, group.name)}
                  onClick={() => setLeaving(group)}
                >
                  {texts.leave}
                </Action>
              ) : (
                <span className="meta">{texts.from(group.source)}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {adding && <GroupField user={user} close={() => setAdding(false)} />}
      {leaving && (
        <Ask
          danger
          title={texts.leaveTitle(user.name, leaving.name)}
          button={texts.leave}
          close={() => setLeaving(undefined)}
          act={async () => {
            await leaveGroup(leaving.id, user.id);
            setLeaving(undefined);
            done({
              text: texts.left(user.name, leaving.name),
              button: texts.rejoin,
              undo: () => joinGroup(leaving.id, user.id),
            });
          }}
        >
          <p>{texts.leaveHelp}</p>
        </Ask>
      )}
    </section>
  );
}
