import { TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../api/me.ts";
import { createGroup, groupsQuestion, type Group } from "../api/people.ts";
import { formatNumber } from "../messages/format.ts";
import { peopleTexts } from "../messages/people.ts";
import { Action } from "../parts/Action.tsx";
import { Ask } from "../parts/Ask.tsx";
import { List, useListing, type Listing } from "../parts/List.tsx";
import { LongTable, titled } from "../parts/LongTable.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { useRows } from "../parts/rows.ts";
import { When } from "../parts/Time.tsx";
import "../styles/people.css";

/** The groups of the account, the newest first. */
export default function Groups() {
  const texts = peopleTexts();
  const may = useMay();
  const [making, setMaking] = useState(false);
  const listing = useListing<Group>(useInfiniteQuery(groupsQuestion()), groupsQuestion().queryKey);
  return (
    <Page
      title={texts.groups}
      actions={may("admin") && <Action onClick={() => setMaking(true)}>{texts.makeGroup}</Action>}
    >
      <p className="lead">{texts.groupsHelp}</p>
      <List listing={listing} nothing={<Empty text={texts.noGroups} />}>
        <Table listing={listing} />
      </List>
      {making && <MakeGroup close={() => setMaking(false)} />}
    </Page>
  );
}

function Table({ listing }: { listing: Listing<Group> }) {
  const texts = peopleTexts();
  const { current, choose } = useRows(listing.refresh);
  return (
    <LongTable
      name={texts.groups}
      columns={[texts.name, texts.members, texts.source, texts.since].map(titled)}
      rows={listing.rows}
      atEnd={listing.onward}
      renderRow={(group, index) => (
        <tr aria-rowindex={index} aria-current={group.id === current || undefined}>
          <td>
            <Link
              className="main"
              to="/admin/groups/$id"
              params={{ id: group.id }}
              data-row={group.id}
              onFocus={() => choose(group.id)}
            >
              {group.name}
            </Link>
          </td>
          <td>
            {formatNumber(group.members.length)}
            {group.more_members && "+"}
          </td>
          <td className="meta">{group.source === undefined ? texts.madeHere : texts.from(group.source)}</td>
          <td>
            <When at={group.created_at} />
          </td>
        </tr>
      )}
    />
  );
}

function MakeGroup({ close }: { close: () => void }) {
  const texts = peopleTexts();
  const navigate = useNavigate();
  const [once] = useState(() => crypto.randomUUID());
  const [name, setName] = useState("");
  const act = async () => {
    const made = await createGroup(name, once);
    close();
    await navigate({ to: "/admin/groups/$id", params: { id: made.id } });
  };
  return (
    <Ask title={texts.makeGroup} button={texts.makeGroupButton} close={close} act={act}>
      {(at) => (
        <TextInput
          data-autofocus
          required
          withAsterisk={false}
          label={texts.name}
          description={texts.groupNameHelp}
          error={at("/name")}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      )}
    </Ask>
  );
}
