import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { createKey, keysQuestion, presets, revokeKey, rotateKey, type ApiKey } from "../api/keys.ts";
import { environment, type Environment } from "../api/environment.ts";
import { t } from "../messages/index.ts";
import { apiKeysTexts } from "../messages/account.ts";
import { Ask } from "../parts/Ask.tsx";
import { Dialog } from "../parts/Dialog.tsx";
import { Empty, Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Snippet } from "../parts/Snippet.tsx";
import { snippets } from "../parts/snippets.ts";
import { When } from "../parts/Time.tsx";
import { Waiting } from "../parts/Waiting.tsx";

type Open = { what: "new" } | { what: "rotate" | "revoke"; key: ApiKey } | { what: "made"; key: ApiKey };

const day = 24 * 60 * 60 * 1000;

/** The keys with which programs act in the name of the person. */
export default function ApiKeys() {
  const texts = apiKeysTexts();
  const keys = useQuery(keysQuestion());
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const made = (key: ApiKey) => setOpen({ what: "made", key });
  return (
    <Page title={t().nav.apiKeys} actions={<Button onClick={() => setOpen({ what: "new" })}>{texts.create}</Button>}>
      <p className="lead">{texts.about}</p>
      {keys.error && <Failure error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isLoading && <Waiting />}
      {keys.data && keys.data.data.length === 0 && <Empty text={texts.empty} />}
      {keys.data && keys.data.data.length > 0 && <Table keys={keys.data.data} open={setOpen} />}
      {open?.what === "new" && <NewKey close={close} made={made} />}
      {open?.what === "rotate" && <Rotate apiKey={open.key} close={close} made={made} />}
      {open?.what === "revoke" && (
        <Ask
          danger
          title={texts.revokeTitle(open.key.name)}
          button={texts.revoke}
          close={close}
          act={async () => {
            await revokeKey(open.key.id);
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

function Table({ keys, open }: { keys: readonly ApiKey[]; open: (what: Open) => void }) {
  const texts = apiKeysTexts();
  return (
    <table className="list" aria-label={t().nav.apiKeys}>
      <thead>
        <tr>
          <th scope="col">{texts.name}</th>
          <th scope="col">{texts.key}</th>
          <th scope="col">{t().environment.label}</th>
          <th scope="col">{texts.scopes}</th>
          <th scope="col">{texts.used}</th>
          <th scope="col">{texts.expires}</th>
          <th scope="col">{t().list.actions}</th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <tr key={key.id}>
            <td className="main">{key.name}</td>
            <td>
              <code>
                {key.prefix}…{key.last_four}
              </code>
            </td>
            <td>{t().environment[key.environment]}</td>
            <td className="cut" title={key.scopes.join(", ")}>
              {key.scopes.join(", ")}
            </td>
            <td>{key.last_used_at === undefined ? texts.never : <When at={key.last_used_at} />}</td>
            <td>{key.expires_at === undefined ? texts.never : <When at={key.expires_at} />}</td>
            <td>
              <span className="row">
                <Button
                  variant="default"
                  aria-label={texts.rotateTitle(key.name)}
                  onClick={() => open({ what: "rotate", key })}
                >
                  {texts.rotate}
                </Button>
                <Button
                  variant="default"
                  color="red"
                  aria-label={texts.revokeTitle(key.name)}
                  onClick={() => open({ what: "revoke", key })}
                >
                  {texts.revoke}
                </Button>
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function NewKey({ close, made }: { close: () => void; made: (key: ApiKey) => void }) {
  const texts = apiKeysTexts();
  const [once] = useState(() => crypto.randomUUID());
  const [name, setName] = useState("");
  const [place, setPlace] = useState<Environment>(environment());
  const [preset, setPreset] = useState<(typeof presets)[number]>("observe");
  const [days, setDays] = useState("90");
  const act = async () => {
    const expires = new Date(Date.now() + Number(days) * day).toISOString();
    made(await createKey({ name, environment: place, preset, expires_at: expires }, once));
  };
  return (
    <Ask title={texts.create} button={texts.make} close={close} act={act}>
      <TextInput
        data-autofocus
        required
        withAsterisk={false}
        label={texts.name}
        description={texts.nameHelp}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <NativeSelect
        label={t().environment.label}
        value={place}
        onChange={(event) => setPlace(event.currentTarget.value as Environment)}
        data={(["live", "test"] as const).map((value) => ({ value, label: t().environment[value] }))}
      />
      <NativeSelect
        label={texts.preset}
        description={texts.presetHelp}
        value={preset}
        onChange={(event) => setPreset(event.currentTarget.value as (typeof presets)[number])}
        data={presets.map((value) => ({ value, label: texts.presets[value] }))}
      />
      <NativeSelect
        label={texts.expires}
        value={days}
        onChange={(event) => setDays(event.currentTarget.value)}
        data={["7", "30", "90", "365"].map((value) => ({ value, label: texts.days(Number(value)) }))}
      />
    </Ask>
  );
}

function Rotate({ apiKey, close, made }: { apiKey: ApiKey; close: () => void; made: (key: ApiKey) => void }) {
  const texts = apiKeysTexts();
  const [once] = useState(() => crypto.randomUUID());
  return (
    <Ask
      title={texts.rotateTitle(apiKey.name)}
      button={texts.rotate}
      close={close}
      act={async () => made(await rotateKey(apiKey.id, once))}
    >
      <p>{texts.rotateHelp}</p>
    </Ask>
  );
}

/** The key itself, this once, and how programs use it. */
function Made({ apiKey, close }: { apiKey: ApiKey; close: () => void }) {
  const texts = apiKeysTexts();
  const line = `export CHARGEHAND_API_KEY=${apiKey.key ?? ""}`;
  return (
    <Dialog title={texts.madeTitle} close={close} stays size="lg">
      <p>{texts.once}</p>
      <Snippet name={texts.variable} text={line} />
      <p>{texts.tryIt}</p>
      {snippets(location.origin).map(({ name, text }) => (
        <details key={name} open={name === "curl"}>
          <summary>{name}</summary>
          <Snippet name={name} text={text} />
        </details>
      ))}
      <Button onClick={close}>{texts.stored}</Button>
    </Dialog>
  );
}
