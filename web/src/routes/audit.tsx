import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { auditQuestion, exportAudit, type AuditEntry, type AuditFilter } from "../api/audit.ts";
import { environment } from "../api/environment.ts";
import { checked } from "../parts/checked.ts";
import { Action } from "../parts/Action.tsx";
import { save } from "../parts/save.ts";
import { t } from "../messages/index.ts";
import { auditTexts } from "../messages/audit.ts";
import { AuditFilterBar } from "../parts/audit/FilterBar.tsx";
import { Entry } from "../parts/audit/Entry.tsx";
import { List, useListing, type Listing } from "../parts/List.tsx";
import { LongTable, titled } from "../parts/LongTable.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { useRows } from "../parts/rows.ts";
import "../styles/people.css";

const route = getRouteApi("/admin/audit");

/** Who has changed what, the newest first. The filter, and the entry that is open, are the address. */
export default function Audit() {
  const texts = auditTexts();
  const { env: _, entry, ...filter } = route.useMatch({ select: checked });
  const navigate = useNavigate({ from: "/admin/audit" });
  const list = useInfiniteQuery(auditQuestion(filter));
  const listing = useListing<AuditEntry>(list, auditQuestion(filter).queryKey);
  const apply = (next: AuditFilter) => void navigate({ search: next });
  const show = (id: string | undefined) =>
    void navigate({
      search: { ...filter, ...(id !== undefined && { entry: id }) },
      replace: true,
      resetScroll: false,
    });
  const address = JSON.stringify(filter);
  const filtered = Object.keys(filter).length > 0;
  return (
    <Page title={texts.title} actions={listing.rows.length > 0 && <Export filter={filter} />}>
      <p className="lead">{environment() === "test" ? texts.aboutTest : texts.about}</p>
      <AuditFilterBar key={`bar ${address}`} filter={filter} apply={apply} />
      <List
        listing={listing}
        nothing={
          <Empty text={list.hasNextPage ? texts.emptyPage : filtered ? texts.emptyFiltered : texts.empty}>
            {filtered && (
              <Button variant="default" onClick={() => apply({})}>
                {t().list.clear}
              </Button>
            )}
          </Empty>
        }
      >
        <Table key={address} listing={listing} opened={entry} show={show} />
      </List>
    </Page>
  );
}

function Table({
  listing,
  opened,
  show,
}: {
  listing: Listing<AuditEntry>;
  opened: string | undefined;
  show: (id: string | undefined) => void;
}) {
  const texts = auditTexts();
  const { current, choose } = useRows(listing.refresh);
  return (
    <LongTable
      name={texts.title}
      className="audit"
      columns={[texts.at, texts.filters.actor, texts.filters.action, texts.filters.target, texts.address].map(titled)}
      rows={listing.rows}
      atEnd={listing.onward}
      renderRow={(entry, index) => (
        <Entry
          entry={entry}
          index={index}
          open={entry.id === opened}
          current={entry.id === current}
          toggle={() => show(entry.id === opened ? undefined : entry.id)}
          choose={() => choose(entry.id)}
        />
      )}
    />
  );
}

/** All that the filter selects, as a file. */
function Export({ filter }: { filter: AuditFilter }) {
  const texts = auditTexts();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const press = async () => {
    setBusy(true);
    setError(undefined);
    try {
      save(await exportAudit(filter), `audit-log-${new Date().toISOString().slice(0, 10)}.jsonl`);
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  return (
    <>
      <Action variant="default" title={texts.exportHelp} loading={busy} onClick={() => void press()}>
        {texts.export}
      </Action>
      {error !== undefined && <Failure error={error} retry={() => void press()} />}
    </>
  );
}
