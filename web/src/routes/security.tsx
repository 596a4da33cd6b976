import { TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  addPasskey,
  endOtherSessions,
  endSession,
  passkeysQuestion,
  removePasskey,
  renamePasskey,
  sessionsQuestion,
  type OwnSession,
  type Passkey,
} from "../api/account.ts";
import { Problem } from "../api/problem.ts";
import { t } from "../messages/index.ts";
import { securityTexts } from "../messages/account.ts";
import { Action } from "../parts/Action.tsx";
import { Identities } from "../parts/account/Identities.tsx";
import { Password } from "../parts/account/Password.tsx";
import { AccountTabs } from "../parts/account/Tabs.tsx";
import { Ask } from "../parts/Ask.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { passkeysWork } from "../parts/passkeys.ts";
import { When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";

type Open =
  { what: "others" | "add" } | { what: "end"; session: OwnSession } | { what: "remove" | "rename"; passkey: Passkey };

/** Where the person is signed in, and the passkeys that do it. */
export default function Security() {
  const texts = securityTexts();
  const sessions = useQuery(sessionsQuestion());
  const passkeys = useQuery(passkeysQuestion());
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const then = (act: () => Promise<void>) => async () => {
    await act();
    close();
  };
  const able = passkeysWork();
  return (
    <Page title={t().nav.security}>
      <AccountTabs />
      <Password />
      <section>
        <div className="page-head">
          <h2>{texts.passkeys}</h2>
          {able && <Action onClick={() => setOpen({ what: "add" })}>{texts.add}</Action>}
        </div>
        <p className="lead">{able ? texts.about : texts.unable}</p>
        {passkeys.isLoadingError && <Failure error={passkeys.error} retry={() => void passkeys.refetch()} />}
        {passkeys.isLoading && <Waiting />}
        {able && passkeys.data?.data.length === 0 && <Empty text={texts.none} />}
        {passkeys.data && passkeys.data.data.length > 0 && (
          <Passkeys passkeys={passkeys.data.data} act={(what, passkey) => setOpen({ what, passkey })} />
        )}
      </section>
      <Identities />
      <section>
        <div className="page-head">
          <h2>{texts.sessions}</h2>
          {(sessions.data?.data.length ?? 0) > 1 && (
            <Action variant="default" onClick={() => setOpen({ what: "others" })}>
              {texts.endOthers}
            </Action>
          )}
        </div>
        {sessions.isLoadingError && <Failure error={sessions.error} retry={() => void sessions.refetch()} />}
        {sessions.isLoading && <Waiting />}
        {sessions.data && (
          <Sessions sessions={sessions.data.data} end={(session) => setOpen({ what: "end", session })} />
        )}
      </section>
      {open?.what === "others" && (
        <Ask title={texts.endOthers} button={texts.end} close={close} act={then(endOtherSessions)}>
          <p>{texts.endHelp}</p>
        </Ask>
      )}
      {open?.what === "end" && (
        <Ask
          title={texts.endTitle(browserOf(open.session.agent), open.session.address)}
          button={texts.end}
          close={close}
          act={then(() => endSession(open.session.id))}
        >
          <p>{texts.endHelp}</p>
        </Ask>
      )}
      {open?.what === "add" && <Add close={close} />}
      {open?.what === "rename" && <Rename passkey={open.passkey} close={close} />}
      {open?.what === "remove" && (
        <Ask
          danger
          title={texts.removeTitle(open.passkey.name)}
          button={texts.remove}
          close={close}
          act={then(() => removePasskey(open.passkey.id))}
        >
          <p>{texts.removeHelp}</p>
        </Ask>
      )}
    </Page>
  );
}

const browsers = ["Edg", "OPR", "Firefox", "Chrome", "Safari"] as const;

/** The name of a browser, as far as it says it; else what it says. */
function browserOf(agent: string): string {
  const name = browsers.find((known) => agent.includes(`${known}/`));
  const found = name === undefined ? undefined : ({ Edg: "Edge", OPR: "Opera" }[name as string] ?? name);
  const system = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(agent)?.[0];
  return found === undefined ? agent : system === undefined ? found : `${found}, ${system}`;
}

function Sessions({ sessions, end }: { sessions: readonly OwnSession[]; end: (session: OwnSession) => void }) {
  const texts = securityTexts();
  return (
    <table className="list" aria-label={texts.sessions}>
      <thead>
        <tr>
          <th scope="col">{texts.browser}</th>
          <th scope="col">{texts.address}</th>
          <th scope="col">{texts.method}</th>
          <th scope="col">{texts.seen}</th>
          <th scope="col">{texts.expires}</th>
          <th scope="col">{t().list.actions}</th>
        </tr>
      </thead>
      <tbody>
        {sessions.map((session) => (
          <tr key={session.id} aria-current={session.current || undefined}>
            <td className="main" title={session.agent}>
              {browserOf(session.agent)}
            </td>
            <td>
              <code>{session.address}</code>
            </td>
            <td className="meta">{texts.methods(session.method)}</td>
            <td>
              <When at={session.last_seen_at} />
            </td>
            <td>
              <When at={session.expires_at} />
            </td>
            <td>
              {session.current ? (
                <span className="meta">{texts.here}</span>
              ) : (
                <Action
                  variant="default"
                  aria-label={texts.endTitle(browserOf(session.agent), session.address)}
                  onClick={() => end(session)}
                >
                  {texts.end}
                </Action>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Passkeys({
  passkeys,
  act,
}: {
  passkeys: readonly Passkey[];
  act: (what: "remove" | "rename", passkey: Passkey) => void;
}) {
  const texts = securityTexts();
  return (
    <table className="list" aria-label={texts.passkeys}>
      <thead>
        <tr>
          <th scope="col">{texts.name}</th>
          <th scope="col">{texts.created}</th>
          <th scope="col">{texts.used}</th>
          <th scope="col">{t().list.actions}</th>
        </tr>
      </thead>
      <tbody>
        {passkeys.map((passkey) => (
          <tr key={passkey.id}>
            <td className="main">{passkey.name}</td>
            <td>
              <When at={passkey.created_at} />
            </td>
            <td>{passkey.last_used_at === undefined ? texts.never : <When at={passkey.last_used_at} />}</td>
            <td>
              <div className="actions">
                <Action
                  variant="default"
                  aria-label={texts.renameTitle(passkey.name)}
                  onClick={() => act("rename", passkey)}
                >
                  {texts.rename}
                </Action>
                <Action
                  variant="default"
                  aria-label={texts.removeTitle(passkey.name)}
                  onClick={() => act("remove", passkey)}
                >
                  {texts.remove}
                </Action>
              </div>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Add({ close }: { close: () => void }) {
  const texts = securityTexts();
  const [name, setName] = useState("");
  const [refused, setRefused] = useState(false);
  const act = async () => {
    setRefused(false);
    try {
      await addPasskey(name.trim());
    } catch (error) {
      if (error instanceof Problem) {
        throw error;
      }
      setRefused(true); // the person gave up, or the device did not know them
      return;
    }
    close();
  };
  return (
    <Ask title={texts.add} button={texts.make} close={close} act={act}>
      <TextInput
        data-autofocus
        label={texts.name}
        description={texts.nameHelp}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {refused && (
        <p role="alert" className="complaint">
          {texts.refused}
        </p>
      )}
    </Ask>
  );
}

function Rename({ passkey, close }: { passkey: Passkey; close: () => void }) {
  const texts = securityTexts();
  const [name, setName] = useState(passkey.name);
  const act = async () => {
    await renamePasskey(passkey.id, name.trim());
    close();
  };
  return (
    <Ask title={texts.renameTitle(passkey.name)} button={texts.rename} close={close} act={act}>
      {(at) => (
        <TextInput
          data-autofocus
          label={texts.name}
          description={texts.nameHelp}
          value={name}
          error={at("/name")}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      )}
    </Ask>
  );
}
