import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useState } from "react";
import { accountKeysQuestion, keysQuestion, revokeKey, type ApiKey } from "../api/keys.ts";
import { useMay } from "../api/me.ts";
import { t } from "../messages/index.ts";
import { apiKeysTexts } from "../messages/keys.ts";
import { Action } from "../parts/Action.tsx";
import { AccountTabs } from "../parts/account/Tabs.tsx";
import { Ask } from "../parts/Ask.tsx";
import { useNow } from "../parts/clock.ts";
import { Made } from "../parts/keys/Made.tsx";
import { NewKey } from "../parts/keys/NewKey.tsx";
import { Rotate } from "../parts/keys/Rotate.tsx";
import { endsSoon, KeyTable } from "../parts/keys/Table.tsx";
import { List, useSection } from "../parts/List.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import "../styles/account.css";

type Open =
  | { what: "new" }
  | { what: "rotate"; key: ApiKey }
  | { what: "revoke"; key: ApiKey; own: boolean }
  | { what: "made"; key: ApiKey };

type Act = (what: Open) => void;

/** The keys with which programs act in the name of the person; for admins, those of the account too. */
export default function ApiKeys() {
  const texts = apiKeysTexts();
  const may = useMay();
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const made = (key: ApiKey) => setOpen({ what: "made", key });
  const admin = may("admin");
  return (
    <Page title={t().nav.apiKeys} actions={<Action onClick={() => setOpen({ what: "new" })}>{texts.create}</Action>}>
      <AccountTabs />
      <p className="lead">{texts.about}</p>
      {admin ? (
        <>
          <section>
            <h2>{texts.own}</h2>
            <OwnKeys open={setOpen} />
          </section>
          <AccountKeys open={setOpen} />
        </>
      ) : (
        <OwnKeys open={setOpen} />
      )}
      {open?.what === "new" && <NewKey close={close} made={made} />}
      {open?.what === "rotate" && <Rotate apiKey={open.key} close={close} made={made} />}
      {open?.what === "revoke" && (
        <Ask
          danger
          title={texts.revokeTitle(open.key.name)}
          button={texts.revoke}
          close={close}
          act={async () => {
            await revokeKey(open.key, open.own);
            close();
          }}
        >
          <p>{texts.revokeHelp}</p>
        </Ask>
      )}
      {open?.what === "made" && <Made apiKey={open.key} close={close} />}
    </Page>
  );
}

function OwnKeys({ open }: { open: Act }) {
  const texts = apiKeysTexts();
  const keys = useQuery(keysQuestion());
  const list = keys.data?.data;
  return (
    <>
      {keys.isLoadingError && <Failure error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isLoading && <Waiting />}
      {list?.length === 0 && <Empty text={texts.empty} />}
      {list && list.length > 0 && (
        <>
          <EndSoon keys={list} />
          <KeyTable
            label={t().nav.apiKeys}
            keys={list}
            mayRotate={() => true}
            rotate={(key) => open({ what: "rotate", key })}
            revoke={(key) => open({ what: "revoke", key, own: true })}
          />
        </>
      )}
    </>
  );
}

function AccountKeys({ open }: { open: Act }) {
  const texts = apiKeysTexts();
  const asked = useInfiniteQuery(accountKeysQuestion());
  const listing = useSection<ApiKey>(asked, accountKeysQuestion().queryKey);
  return (
    <section>
      <h2>{texts.account}</h2>
      <p className="lead">{texts.accountAbout}</p>
      <List listing={listing} nothing={<Empty text={texts.accountEmpty} />}>
        <EndSoon keys={listing.rows} />
        <KeyTable
          label={texts.account}
          keys={listing.rows}
          mayRotate={(key) => key.user_id === undefined}
          rotate={(key) => open({ what: "rotate", key })}
          revoke={(key) => open({ what: "revoke", key, own: false })}
        />
      </List>
    </section>
  );
}

/** Says that keys end soon, and what to do. */
function EndSoon({ keys }: { keys: readonly ApiKey[] }) {
  const texts = apiKeysTexts();
  const now = useNow();
  const count = keys.filter((key) => endsSoon(key, now)).length;
  return count === 0 ? null : (
    <div className="notice">
      <IconAlertTriangle aria-hidden size={18} />
      <div>
        <strong>{texts.soon(count)}</strong>
        <p>{texts.soonHelp}</p>
      </div>
    </div>
  );
}
