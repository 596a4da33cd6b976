import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "../api/me.ts";
import { usersQuestion, type User, type UserFilter } from "../api/people.ts";
import { formatList } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { peopleTexts } from "../messages/people.ts";
import { checked } from "../parts/checked.ts";
import { Action } from "../parts/Action.tsx";
import { List, useListing, type Listing } from "../parts/List.tsx";
import { LongTable, titled } from "../parts/LongTable.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Invite } from "../parts/people/Invite.tsx";
import { UserFilterBar } from "../parts/people/UserFilterBar.tsx";
import { useRows } from "../parts/rows.ts";
import { When } from "../parts/Time.tsx";
import "../styles/people.css";

const route = getRouteApi("/admin/users");

/** The users of the account, the newest first. The filter is the address. */
export default function Users() {
  const texts = peopleTexts();
  const { env: _, ...filter } = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/admin/users" });
  const may = useMay();
  const [inviting, setInviting] = useState(false);
  const listing = useListing<User>(useInfiniteQuery(usersQuestion(filter)), usersQuestion(filter).queryKey);
  const apply = (next: UserFilter) => void navigate({ search: next });
  const address = JSON.stringify(filter);
  const filtered = Object.keys(filter).length > 0;
  return (
    <Page
      title={texts.users}
      actions={may("admin") && <Action onClick={() => setInviting(true)}>{texts.invite}</Action>}
    >
      <p className="lead">{filter.status === "invited" ? texts.openInvitations : texts.usersHelp}</p>
      <UserFilterBar key={`bar ${address}`} filter={filter} apply={apply} />
      <List
        listing={listing}
        nothing={
          <Empty text={filter.status === "invited" && filter.q === undefined ? texts.noInvitations : texts.noUsers}>
            {filtered && (
              <Button variant="default" onClick={() => apply({})}>
                {t().list.clear}
              </Button>
            )}
          </Empty>
        }
      >
        <Table key={address} listing={listing} />
      </List>
      {inviting && <Invite close={() => setInviting(false)} />}
    </Page>
  );
}

function Table({ listing }: { listing: Listing<User> }) {
  const texts = peopleTexts();
  const { current, choose } = useRows(listing.refresh);
  return (
    <LongTable
      name={texts.users}
      columns={[texts.name, texts.status, texts.methods, texts.groups, texts.seen].map(titled)}
      rows={listing.rows}
      atEnd={listing.onward}
      renderRow={(user, index) => (
        <Row user={user} index={index} current={user.id === current} choose={() => choose(user.id)} />
      )}
    />
  );
}

function Row({ user, index, current, choose }: { user: User; index: number; current: boolean; choose: () => void }) {
  const texts = peopleTexts();
  return (
    <tr aria-rowindex={index} aria-current={current || undefined}>
      <td>
        <Name user={user} choose={choose} />
      </td>
      <td>
        {user.status === "active" ? (
          texts.statuses.active
        ) : (
          <span className="badge">{texts.statuses[user.status]}</span>
        )}
      </td>
      <td className="meta">{formatList(user.methods.map(texts.method))}</td>
      <td>{user.groups.length > 0 && texts.groupCount(user.groups.length)}</td>
      <td>
        {user.last_seen_at === undefined ? (
          <span className="meta">{texts.never}</span>
        ) : (
          <>
            <span className="narrow meta">{texts.seen} </span>
            <When at={user.last_seen_at} />
          </>
        )}
      </td>
    </tr>
  );
}

function Name({ user, choose }: { user: User; choose: () => void }) {
  return (
    <span className="stacked">
      <Link className="main" to="/admin/users/$id" params={{ id: user.id }} data-row={user.id} onFocus={choose}>
        {user.name}
      </Link>
      <span className="meta">{user.email}</span>
    </span>
  );
}
