import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useMay } from "../api/me.ts";
import { secretsQuestion, type Secret } from "../api/secrets.ts";
import { t } from "../messages/index.ts";
import { secretsTexts } from "../messages/secrets.ts";
import { Action } from "../parts/Action.tsx";
import { List, useListing, type Listing } from "../parts/List.tsx";
import { LongTable, titled } from "../parts/LongTable.tsx";
import { Empty } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { useRows } from "../parts/rows.ts";
import { limitsOf } from "../parts/secrets/limits.ts";
import { SetSecret } from "../parts/secrets/SetSecret.tsx";
import { When } from "../parts/Time.tsx";
import "../styles/account.css";

/** The secrets of the environment. Their values never come back. */
export default function Secrets() {
  const texts = secretsTexts();
  const may = useMay();
  const listing = useListing<Secret>(useInfiniteQuery(secretsQuestion()), secretsQuestion().queryKey);
  const navigate = useNavigate();
  const [making, setMaking] = useState(false);
  return (
    <Page
      title={t().nav.secrets}
      actions={may("admin") && <Action onClick={() => setMaking(true)}>{texts.create}</Action>}
    >
      <p className="lead">{texts.about}</p>
      <List listing={listing} nothing={<Empty text={texts.empty} />}>
        <Table listing={listing} />
      </List>
      {making && (
        <SetSecret
          close={() => setMaking(false)}
          done={(name) => void navigate({ to: "/admin/secrets/$name", params: { name } })}
        />
      )}
    </Page>
  );
}

function Table({ listing }: { listing: Listing<Secret> }) {
  const texts = secretsTexts();
  const { current, choose } = useRows(listing.refresh);
  const rows = useMemo(() => listing.rows.map((secret) => ({ ...secret, id: secret.name })), [listing.rows]);
  return (
    <LongTable
      name={t().nav.secrets}
      columns={[texts.name, texts.version, texts.changed, texts.onlyFor].map(titled)}
      rows={rows}
      atEnd={listing.onward}
      renderRow={(secret, index) => (
        <tr aria-rowindex={index} aria-current={current === secret.name || undefined}>
          <td>
            <Link
              className="main"
              to="/admin/secrets/$name"
              params={{ name: secret.name }}
              data-row={secret.name}
              onFocus={() => choose(secret.name)}
            >
              {secret.name}
            </Link>
          </td>
          <td className="number">
            <span className="narrow">{texts.version} </span>
            {secret.version}
          </td>
          <td>
            <When at={secret.updated_at} />
          </td>
          <td>{limitsOf(secret)}</td>
        </tr>
      )}
    />
  );
}
