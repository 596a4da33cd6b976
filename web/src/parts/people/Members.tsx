import { Button } from "@mantine/core";
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { joinGroup, leaveGroup, type FoundUser, type Group } from "../../api/people.ts";
import { t } from "../../messages/index.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Ask } from "../Ask.tsx";
import { LongTable } from "../LongTable.tsx";
import { More } from "../More.tsx";
import { Empty, Failure } from "../Notice.tsx";
import type { Done } from "../Undo.tsx";
import { Waiting } from "../Waiting.tsx";
import { Picker, type Picked } from "./Picker.tsx";

/** Who is in a group. Those of a group of an identity provider are changed there. */
export function Members({
  group,
  list,
  done,
}: {
  group: Group;
  list: UseInfiniteQueryResult<InfiniteData<{ data: FoundUser[] }>>;
  done: (done: Done) => void;
}) {
  const texts = peopleTexts();
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<FoundUser>();
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.data) ?? [], [list.data]);
  const ours = group.source === undefined;
  return (
    <section>
      <div className="page-head">
        <h2>{texts.members}</h2>
        {ours && <Button onClick={() => setAdding(true)}>{texts.addMember}</Button>}
      </div>
      {list.error && <Failure error={list.error} retry={() => void list.refetch()} />}
      {list.isLoading && <Waiting />}
      {list.isSuccess && rows.length === 0 && <Empty text={texts.noMembers} />}
      {rows.length > 0 && (
        <LongTable
          name={texts.members}
          columns={[texts.name, texts.email, ...(ours ? [t().list.actions] : [])]}
          rows={rows}
          renderRow={(user, index) => (
            <tr aria-rowindex={index}>
              <td>
                <Link className="main" to="/admin/users/$id" params={{ id: user.id }} data-row={user.id}>
                  {user.name}
                </Link>
              </td>
              <td>{user.email}</td>
              {ours && (
                <td>
                  <Button
                    variant="default"
                    aria-label={texts.leaveTitle(user.name, group.name)}
                    onClick={() => setLeaving(user)}
                  >
                    {texts.leave}
                  </Button>
                </td>
              )}
            </tr>
          )}
        />
      )}
      {rows.length > 0 && list.hasNextPage && <More list={list} />}
      {adding && <AddMember group={group} close={() => setAdding(false)} />}
      {leaving && (
        <Ask
          danger
          title={texts.leaveTitle(leaving.name, group.name)}
          button={texts.leave}
          close={() => setLeaving(undefined)}
          act={async () => {
            await leaveGroup(group.id, leaving.id);
            setLeaving(undefined);
            done({
              text: texts.left(leaving.name, group.name),
              button: texts.rejoin,
              undo: () => joinGroup(group.id, leaving.id),
            });
          }}
        >
          <p>{texts.leaveHelp}</p>
        </Ask>
      )}
    </section>
  );
}

function AddMember({ group, close }: { group: Group; close: () => void }) {
  const texts = peopleTexts();
  const [picked, setPicked] = useState<Picked>();
  const [missing, setMissing] = useState(false);
  const act = async () => {
    setMissing(picked === undefined);
    if (picked) {
      await joinGroup(group.id, picked.id);
      close();
    }
  };
  return (
    <Ask title={texts.addMemberTitle(group.name)} button={texts.add} close={close} act={act}>
      <Picker groups={false} label={texts.who} picked={picked} pick={setPicked} />
      {missing && picked === undefined && (
        <p role="alert" className="complaint">
          {texts.whoMissing}
        </p>
      )}
      <p className="meta">{texts.addMemberHelp}</p>
    </Ask>
  );
}
