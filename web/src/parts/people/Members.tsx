import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { joinGroup, leaveGroup, type FoundUser, type Group } from "../../api/people.ts";
import { t } from "../../messages/index.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Action } from "../Action.tsx";
import { Ask } from "../Ask.tsx";
import { List, type Listing } from "../List.tsx";
import { LongTable, titled } from "../LongTable.tsx";
import { Empty } from "../Notice.tsx";
import type { Done } from "../Undo.tsx";
import { Picker, type Picked } from "./Picker.tsx";

/** Who is in a group. Those of a group of an identity provider are changed there. */
export function Members({
  group,
  listing,
  done,
}: {
  group: Group;
  listing: Listing<FoundUser>;
  done: (done: Done) => void;
}) {
  const texts = peopleTexts();
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<FoundUser>();
  const ours = group.source === undefined;
  return (
    <section>
      <div className="page-head">
        <h2>{texts.members}</h2>
        {ours && <Action onClick={() => setAdding(true)}>{texts.addMember}</Action>}
      </div>
      <List listing={listing} nothing={<Empty text={texts.noMembers} />}>
        <LongTable
          name={texts.members}
          columns={[texts.name, texts.email, ...(ours ? [t().list.actions] : [])].map(titled)}
          rows={listing.rows}
          atEnd={listing.onward}
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
                  <Action
                    variant="default"
                    aria-label={texts.leaveTitle(user.name, group.name)}
                    onClick={() => setLeaving(user)}
                  >
                    {texts.leave}
                  </Action>
                </td>
              )}
            </tr>
          )}
        />
      </List>
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
