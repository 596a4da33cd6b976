import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { groupQuestion, heldQuestion, membersQuestion, type FoundUser, type Group } from "../api/people.ts";
import { peopleTexts } from "../messages/people.ts";
import { Action } from "../parts/Action.tsx";
import { useSection } from "../parts/List.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { GiveRole } from "../parts/people/GiveRole.tsx";
import { Grants } from "../parts/people/Grants.tsx";
import { GroupActions } from "../parts/people/GroupActions.tsx";
import { Members } from "../parts/people/Members.tsx";
import { Undo, type Done } from "../parts/Undo.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/people.css";

const route = getRouteApi("/admin/groups/$id");

/** A group: who is in it, and what that allows. */
export default function GroupPage() {
  const { id } = route.useParams();
  const group = useQuery(groupQuestion(id));
  if (group.data) {
    return <Shown group={group.data} />;
  }
  return (
    <Page title={peopleTexts().group}>
      {group.error ? <Failure error={group.error} retry={() => void group.refetch()} /> : <Waiting />}
    </Page>
  );
}

function Shown({ group }: { group: Group }) {
  const texts = peopleTexts();
  const held = useQuery(heldQuestion({ group_id: group.id }));
  const asked = useInfiniteQuery(membersQuestion(group.id));
  const members = useSection<FoundUser>(asked, membersQuestion(group.id).queryKey);
  const [giving, setGiving] = useState(false);
  const [done, setDone] = useState<Done>();
  const roles = held.data?.data ?? [];
  return (
    <Page
      title={group.name}
      actions={group.source === undefined && <GroupActions group={group} roles={held.data?.data.length} />}
    >
      {done && <Undo key={done.text} done={done} close={() => setDone(undefined)} />}
      {group.source !== undefined && <p className="lead">{texts.fromHelp(group.source)}</p>}
      <p className="row">
        <Link to="/admin/audit" search={{ target: group.id }}>
          {texts.groupLog}
        </Link>
      </p>
      <section>
        <div className="page-head">
          <h2>{texts.rolesTitle}</h2>
          <Action onClick={() => setGiving(true)}>{texts.give}</Action>
        </div>
        {held.error && <Failure error={held.error} retry={() => void held.refetch()} />}
        {held.isLoading && <Waiting />}
        {roles.length > 0 && (
          <Grants name={texts.rolesTitle} rows={roles.map((grant) => ({ id: grant.id, grant }))} done={setDone} />
        )}
        {held.isSuccess && roles.length === 0 && <Empty text={texts.noGroupRoles} />}
      </section>
      <Members group={group} listing={members} done={setDone} />
      {giving && <GiveRole to={{ kind: "group", id: group.id, name: group.name }} close={() => setGiving(false)} />}
    </Page>
  );
}
