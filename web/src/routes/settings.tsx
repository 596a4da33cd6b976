import { Checkbox, NativeSelect, TextInput, useMantineColorScheme } from "@mantine/core";
import "@mantine/core/styles/Checkbox.css";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { useMe, type Me } from "../api/me.ts";
import { Problem } from "../api/problem.ts";
import { patchMe, settingsQuestion } from "../api/settings.ts";
import { formatExact, formatList } from "../messages/format.ts";
import { languages, t, type Language } from "../messages/index.ts";
import { settingsTexts } from "../messages/settings.ts";
import { shellTexts } from "../messages/shell.ts";
import { browserTimeZone, currentTimeZone } from "../messages/zone.ts";
import { Action } from "../parts/Action.tsx";
import { AccountTabs } from "../parts/account/Tabs.tsx";
import { useNow } from "../parts/clock.ts";
import { density, type Density } from "../parts/density.ts";
import { keysAreOn } from "../parts/keys.ts";
import { Failure } from "../parts/Notice.tsx";
import { Page } from "../parts/Page.tsx";
import { Waiting } from "../parts/Waiting.tsx";
import { change, changeLanguage, languageOf, themes, useSaved, type Theme } from "../parts/preferences.ts";

/** Who the person is, and how they want to see everything. */
export default function SettingsPage() {
  return (
    <Page title={t().nav.settings}>
      <AccountTabs />
      <Profile />
      <Look />
    </Page>
  );
}

function Profile() {
  const texts = settingsTexts();
  const me = useMe();
  const [name, setName] = useState(me.user.name);
  const save = useMutation({ mutationFn: () => patchMe({ name: name.trim() }) });
  const { error } = save;
  const wrong = error instanceof Problem && error.fields.map((field) => field.detail).join(" ");
  return (
    <section className="settings">
      <h2>{texts.profile}</h2>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <TextInput
          label={texts.name}
          description={texts.nameHelp}
          autoComplete="name"
          value={name}
          error={wrong || undefined}
          onChange={(event) => {
            setName(event.currentTarget.value);
            save.reset();
          }}
        />
        {error !== null && !wrong && <Failure error={error} />}
        <div className="row">
          <Action type="submit" variant="default" loading={save.isPending}>
            {texts.saveName}
          </Action>
          <Saved saved={save.isSuccess} />
        </div>
      </form>
      <dl className="facts">
        <dt>{texts.email}</dt>
        <dd>{me.user.email}</dd>
        <dt>{texts.roles}</dt>
        <dd>
          <Roles me={me} />
        </dd>
      </dl>
    </section>
  );
}

function Roles({ me }: { me: Me }) {
  const texts = settingsTexts();
  if (me.grants.length === 0) {
    return texts.noRole;
  }
  return (
    <ul className="plain">
      {me.grants.map((grant) => {
        const over =
          grant.namespace !== undefined
            ? texts.namespace(grant.namespace)
            : grant.workflow_id !== undefined
              ? texts.oneWorkflow
              : texts.everywhere;
        const environments = formatList(grant.environments.map((name) => t().environment[name]));
        return <li key={grant.id}>{texts.role(grant.role, over, environments)}</li>;
      })}
      {me.more_grants && <li>{texts.moreRoles}</li>}
    </ul>
  );
}

const speak = (language: string) => void changeLanguage(language === "" ? null : (language as Language));

/** What is set, once the server has said it. */
function Look() {
  const settings = useQuery(settingsQuestion());
  return (
    <section className="settings">
      <h2>{settingsTexts().look}</h2>
      {settings.isLoadingError && <Failure error={settings.error} retry={() => void settings.refetch()} />}
      {settings.isLoading && <Waiting />}
      {settings.data && <Choices />}
    </section>
  );
}

function Choices() {
  const texts = settingsTexts();
  const { account } = shellTexts();
  const { user } = useMe();
  const { colorScheme } = useMantineColorScheme();
  const outcome = useSaved();
  const [rows, setRows] = useState(density);
  const [keys, setKeys] = useState(keysAreOn);
  const now = useNow();
  return (
    <>
      <p className="lead">{texts.lookHelp}</p>
      <div className="form">
        <Select id="language" label={texts.language} value={languageOf(user.locale) ?? ""} choose={speak}>
          <option value="">{texts.asBrowser}</option>
          {languages.map((name) => (
            <option key={name} value={name}>
              {account.languages[name]}
            </option>
          ))}
        </Select>
        <Select
          id="theme"
          label={texts.theme}
          value={colorScheme}
          choose={(theme) => void change({ theme: theme as Theme })}
        >
          {themes.map((name) => (
            <option key={name} value={name}>
              {account.themes[name]}
            </option>
          ))}
        </Select>
        <Select
          id="time-zone"
          label={texts.timeZone}
          description={texts.timeZoneHelp(formatExact(now))}
          value={currentTimeZone() ?? ""}
          choose={(zone) => void change({ timeZone: zone === "" ? undefined : zone })}
        >
          <option value="">{texts.ofBrowser(browserTimeZone())}</option>
          {zones().map((zone) => (
            <option key={zone}>{zone}</option>
          ))}
        </Select>
        <Select
          id="rows"
          label={texts.rows}
          value={rows}
          choose={(next) => {
            setRows(next as Density);
            void change({ rows: next as Density });
          }}
        >
          {(["dense", "comfortable"] as const).map((name) => (
            <option key={name} value={name}>
              {texts.densities[name]}
            </option>
          ))}
        </Select>
        <Checkbox
          checked={keys}
          label={texts.keys}
          description={texts.keysHelp}
          onChange={(event) => {
            const on = event.currentTarget.checked;
            setKeys(on);
            void change({ keys: on ? "on" : "off" });
          }}
        />
        <Saved saved={outcome?.saved === true} />
      </div>
    </>
  );
}

/** The zones that the browser lists, UTC, and the one that is chosen, which may have another name there. */
const zones = () => [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone"), currentTimeZone() ?? "UTC"])];

function Select({
  choose,
  ...props
}: {
  id: string;
  label: string;
  description?: string;
  value: string;
  choose: (value: string) => void;
  children: ReactNode;
}) {
  return <NativeSelect {...props} onChange={(event) => choose(event.currentTarget.value)} />;
}

function Saved({ saved }: { saved: boolean }) {
  return (
    <span role="status" className="meta">
      {saved && settingsTexts().saved}
    </span>
  );
}
