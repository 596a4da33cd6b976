import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { identitiesQuestion, linkIdentity, methodsQuestion, unlinkIdentity } from "../../api/account.ts";
import { formatRelative } from "../../messages/format.ts";
import { securityTexts } from "../../messages/account.ts";
import { Action } from "../Action.tsx";
import { Ask } from "../Ask.tsx";
import { useNow } from "../clock.ts";
import { Failure } from "../Notice.tsx";

interface Row {
  name: string;
  title: string;
  since?: string | undefined;
  /** The server has it. */
  usable: boolean;
}

/** The identity providers of the server and of the person. Without any, nothing is shown. */
export function Identities() {
  const texts = securityTexts();
  const own = useQuery(identitiesQuestion());
  const methods = useQuery(methodsQuestion());
  const now = useNow();
  const [open, setOpen] = useState<{ what: "link" | "unlink"; row: Row }>();
  const linked = own.data?.data ?? [];
  const offered = methods.data?.oidc ?? [];
  const rows: Row[] = [
    ...offered.map(({ name, title }) => ({
      name,
      title,
      usable: true,
      since: linked.find((one) => one.provider === name)?.created_at,
    })),
    ...linked
      .filter((one) => !offered.some((known) => known.name === one.provider))
      .map((one) => ({ name: one.provider, title: one.title ?? one.provider, since: one.created_at, usable: false })),
  ];
  if (rows.length === 0 && own.error === null && methods.error === null) {
    return null;
  }
  return (
    <section>
      <h2>{texts.providers}</h2>
      <p className="lead">{texts.providersAbout}</p>
      {own.isLoadingError && <Failure error={own.error} retry={() => void own.refetch()} />}
      {methods.isLoadingError && <Failure error={methods.error} retry={() => void methods.refetch()} />}
      <ul className="plain">
        {own.data &&
          rows.map((row) => (
            <li key={row.name} className="row">
              <strong>{row.title}</strong>
              {row.since !== undefined && (
                <span className="meta">{texts.linked(formatRelative(new Date(row.since), now))}</span>
              )}
              {!row.usable && <span className="meta">{texts.gone}</span>}
              <Action
                variant="default"
                aria-label={row.since === undefined ? texts.linkTitle(row.title) : texts.unlinkTitle(row.title)}
                onClick={() => setOpen({ what: row.since === undefined ? "link" : "unlink", row })}
              >
                {row.since === undefined ? texts.link : texts.unlink}
              </Action>
            </li>
          ))}
      </ul>
      {open?.what === "link" && (
        <Ask
          title={texts.linkTitle(open.row.title)}
          button={texts.link}
          close={() => setOpen(undefined)}
          act={() => linkIdentity(open.row.name)}
        >
          <p>{texts.linkHelp}</p>
        </Ask>
      )}
      {open?.what === "unlink" && (
        <Ask
          danger
          title={texts.unlinkTitle(open.row.title)}
          button={texts.unlink}
          close={() => setOpen(undefined)}
          act={async () => {
            await unlinkIdentity(open.row.name);
            setOpen(undefined);
          }}
        >
          <p>{texts.unlinkHelp}</p>
        </Ask>
      )}
    </section>
  );
}
