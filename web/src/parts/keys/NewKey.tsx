import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import "@mantine/core/styles/Checkbox.css";
import { useState } from "react";
import { environment, type Environment } from "../../api/environment.ts";
import { createKey, presets, scopesOf, type ApiKey, type NewKey as Body, type Preset } from "../../api/keys.ts";
import { useMe } from "../../api/me.ts";
import { t } from "../../messages/index.ts";
import { apiKeysTexts } from "../../messages/keys.ts";
import { fromClock, toClock } from "../../messages/zone.ts";
import { Ask, type At } from "../Ask.tsx";
import { Lines } from "../Lines.tsx";

type Choice = Preset | "own";
type Kind = "own" | "account";

/** What is typed into the form of a new key. */
interface Draft {
  name: string;
  kind: Kind;
  place: Environment;
  choice: Choice | undefined;
  scopes: readonly string[];
  workflows: string;
  namespaces: string;
  addresses: string;
  rate: string;
  end: string; // days, "day" or "never"
  day: string;
}

const dayLength = 24 * 60 * 60 * 1000;
const split = (text: string) => text.split(/[\n,]/).flatMap((line) => line.trim() || []);

/** When the key ends; undefined: never. A day that is chosen is part of its life. */
function endOf({ end, day }: Draft, from: number): Date | undefined {
  if (end === "never") {
    return undefined;
  }
  return end === "day" ? fromClock(`${day}T23:59:59`) : new Date(from + Number(end) * dayLength);
}

function bodyOf(draft: Draft, choice: Choice, end: Date | undefined): Body {
  const [workflows, namespaces, addresses] = [draft.workflows, draft.namespaces, draft.addresses].map(split);
  return {
    name: draft.name,
    environment: draft.place,
    ...(choice === "own" ? { scopes: [...draft.scopes] } : { preset: choice }),
    ...(workflows?.length && { workflows }),
    ...(namespaces?.length && { namespaces }),
    ...(addresses?.length && { allowed_addresses: addresses }),
    ...(draft.kind === "account" && draft.rate.trim() !== "" && { rate_limit: Number(draft.rate) }),
    ...(end !== undefined && { expires_at: end.toISOString() }),
  };
}

/** A request for a key. Its days are counted from when it was begun, so that it stays the same when it is sent again. */
const begin = () => ({ key: crypto.randomUUID(), at: Date.now() });

/** The form of a new key. It offers no more than the person may give. */
export function NewKey({ close, made }: { close: () => void; made: (key: ApiKey) => void }) {
  const texts = apiKeysTexts();
  const { scopes: rights, environments } = useMe();
  const [once, setOnce] = useState(begin);
  const [wrong, setWrong] = useState<"rate" | "day">();
  const [draft, setDraft] = useState<Draft>({
    name: "",
    kind: "own",
    place: environment(),
    choice: undefined,
    scopes: [],
    workflows: "",
    namespaces: "",
    addresses: "",
    rate: "",
    end: "90",
    day: "",
  });
  const set = (part: Partial<Draft>) => {
    const next = { ...draft, ...part };
    setDraft({ ...next, end: next.kind === "own" && next.end === "never" ? "90" : next.end });
    setOnce(begin()); // another key is another request
    setWrong(undefined);
  };
  const own = rights[draft.place];
  const lacking = (preset: Preset) => scopesOf(preset, draft.place).filter((scope) => !own.includes(scope));
  const first = (["observe", ...presets] as const).find((preset) => lacking(preset).length === 0);
  const choice = draft.choice ?? first ?? "own";
  const act = async () => {
    const end = endOf(draft, once.at);
    if (draft.kind === "account" && !/^\d*$/.test(draft.rate.trim())) {
      setWrong("rate");
    } else if (end !== undefined && !(end.getTime() > Date.now())) {
      setWrong("day");
    } else {
      made(await createKey(draft.kind, bodyOf(draft, choice, end), once.key));
    }
  };
  return (
    <Ask title={texts.create} button={texts.make} close={close} act={act}>
      {(at) => (
        <>
          <TextInput
            data-autofocus
            required
            withAsterisk={false}
            label={texts.name}
            description={texts.nameHelp}
            value={draft.name}
            error={at("/name")}
            onChange={(event) => set({ name: event.currentTarget.value })}
          />
          {rights[draft.place].includes("admin") && (
            <NativeSelect
              label={texts.whose}
              value={draft.kind}
              onChange={(event) => set({ kind: event.currentTarget.value as Kind })}
              data={(["own", "account"] as const).map((value) => ({ value, label: texts.whoseChoices[value] }))}
            />
          )}
          <NativeSelect
            label={t().environment.label}
            value={draft.place}
            error={at("/environment")}
            onChange={(event) => {
              const place = event.currentTarget.value as Environment;
              set({ place, choice: undefined, scopes: [], kind: rights[place].includes("admin") ? draft.kind : "own" });
            }}
            data={environments.map((value) => ({ value, label: t().environment[value] }))}
          />
          <fieldset className="cards">
            <legend>{texts.preset}</legend>
            {presets.map((preset) => (
              <Card
                key={preset}
                name={preset}
                text={texts.presets[preset]}
                lacking={lacking(preset)}
                chosen={choice === preset}
                choose={() => set({ choice: preset })}
              />
            ))}
            <Card
              name={texts.ownScopes}
              text={texts.presets.own}
              lacking={[]}
              chosen={choice === "own"}
              choose={() => set({ choice: "own" })}
            />
          </fieldset>
          {choice === "own" && (
            <Scopes all={own} chosen={draft.scopes} at={at} choose={(scopes) => set({ choice: "own", scopes })} />
          )}
          <NativeSelect
            label={texts.expiry}
            value={draft.end}
            error={at("/expires_at")}
            onChange={(event) => set({ end: event.currentTarget.value })}
          >
            {[7, 30, 90, 365].map((days) => (
              <option key={days} value={days}>
                {texts.days(days)}
              </option>
            ))}
            <option value="day">{texts.onDay}</option>
            {draft.kind === "account" && <option value="never">{texts.noEnd}</option>}
          </NativeSelect>
          {draft.end === "day" && (
            <TextInput
              type="date"
              label={texts.day}
              min={toClock(new Date()).slice(0, 10)}
              value={draft.day}
              error={wrong === "day" ? texts.chooseDay : at("/expires_at")}
              onChange={(event) => set({ day: event.currentTarget.value })}
            />
          )}
          <Limits draft={draft} set={set} at={at} wrongRate={wrong === "rate"} />
        </>
      )}
    </Ask>
  );
}

/** A choice among few, with what it stands for, and why it cannot be chosen. */
function Card(props: { name: string; text: string; lacking: readonly string[]; chosen: boolean; choose: () => void }) {
  return (
    <label className="card" data-off={props.lacking.length > 0 || undefined}>
      <input
        type="radio"
        name="preset"
        checked={props.chosen}
        disabled={props.lacking.length > 0}
        onChange={props.choose}
      />
      <span>
        <strong>{props.name}</strong>
        <span className="meta">{props.text}</span>
        {props.lacking.length > 0 && <span className="meta">{apiKeysTexts().lacking(props.lacking)}</span>}
      </span>
    </label>
  );
}

function Scopes({
  all,
  chosen,
  at,
  choose,
}: {
  all: readonly string[];
  chosen: readonly string[];
  at: At;
  choose: (scopes: readonly string[]) => void;
}) {
  const texts = apiKeysTexts();
  const wrong = at("/scopes");
  return (
    <fieldset className="cards">
      <legend>{texts.ownScopes}</legend>
      {all.map((scope) => (
        <Checkbox
          key={scope}
          size="xs"
          checked={chosen.includes(scope)}
          label={scope}
          description={texts.scopeHelp[scope]}
          onChange={(event) =>
            choose(event.currentTarget.checked ? [...chosen, scope] : chosen.filter((one) => one !== scope))
          }
        />
      ))}
      {wrong !== undefined && <p className="complaint">{wrong}</p>}
    </fieldset>
  );
}

function Limits({
  draft,
  set,
  at,
  wrongRate,
}: {
  draft: Draft;
  set: (part: Partial<Draft>) => void;
  at: At;
  wrongRate: boolean;
}) {
  const texts = apiKeysTexts();
  const wrong = [at("/workflows"), at("/namespaces"), at("/allowed_addresses"), at("/rate_limit")];
  const [open, setOpen] = useState(false);
  return (
    <details
      open={open || wrongRate || wrong.some((one) => one !== undefined)}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{texts.limits}</summary>
      <div className="form">
        <Lines
          label={texts.workflows}
          help={texts.workflowsHelp}
          value={draft.workflows}
          wrong={wrong[0]}
          change={(workflows) => set({ workflows })}
        />
        <Lines
          label={texts.namespaces}
          help={texts.namespacesHelp}
          value={draft.namespaces}
          wrong={wrong[1]}
          change={(namespaces) => set({ namespaces })}
        />
        <Lines
          label={texts.addresses}
          help={texts.addressesHelp}
          value={draft.addresses}
          wrong={wrong[2]}
          change={(addresses) => set({ addresses })}
        />
        {draft.kind === "account" && (
          <TextInput
            inputMode="numeric"
            label={texts.rate}
            description={texts.rateHelp}
            value={draft.rate}
            error={wrongRate ? texts.notWhole : wrong[3]}
            onChange={(event) => set({ rate: event.currentTarget.value })}
          />
        )}
      </div>
    </details>
  );
}
