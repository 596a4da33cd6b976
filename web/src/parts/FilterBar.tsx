import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { t } from "../messages/index.ts";
import { executionsTexts } from "../messages/executions.ts";
import { keys, parse, print, withOnly, type Complaint, type Key } from "./filter.ts";
import { states } from "./state.ts";

const times = ["-1h", "-24h", "-7d"] as const;

/** The filter of a list, as text and as choices of what is asked for most. Another filter is another bar (key). */
export function FilterBar({
  filter,
  complaints,
  apply,
}: {
  filter: string;
  complaints: readonly Complaint[];
  apply: (filter: string) => void;
}) {
  const texts = executionsTexts();
  const [text, setText] = useState(filter);
  const terms = parse(filter);
  const only = (key: Key) => {
    const values = terms.filter((term) => term.key === key).map((term) => term.value);
    return values.length === 1 ? (values[0] ?? "") : "";
  };
  const choose = (key: Key) => (event: { currentTarget: { value: string } }) =>
    apply(print(withOnly(terms, key, event.currentTarget.value || undefined)));
  const from = only("from");
  return (
    <search>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault();
          apply(print(parse(text)));
        }}
      >
        <TextInput
          className="text"
          data-search
          label={texts.filter}
          placeholder={texts.filterHelp}
          title={texts.filterHelp}
          value={text}
          spellCheck={false}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <NativeSelect
          label={texts.states}
          value={only("state")}
          onChange={choose("state")}
          data={[
            { value: "", label: texts.anyState },
            ...states.map((state) => ({ value: state, label: t().states[state] })),
          ]}
        />
        <NativeSelect
          label={texts.presets}
          value={from}
          onChange={choose("from")}
          data={[
            { value: "", label: texts.presetNames.any },
            ...times.map((time) => ({ value: time, label: texts.presetNames[time] })),
            ...(from === "" || times.some((time) => time === from) ? [] : [{ value: from, label: from }]),
          ]}
        />
        <Button type="submit" variant="default">
          {t().list.apply}
        </Button>
        {filter !== "" && (
          <Button variant="subtle" onClick={() => apply("")}>
            {t().list.clear}
          </Button>
        )}
      </form>
      {complaints.map((complaint) => (
        <p key={say(complaint)} role="alert" className="complaint">
          {say(complaint)}
          {complaint.kind === "key" && ` ${texts.wrong.known(keys)}`}
        </p>
      ))}
    </search>
  );
}

function say(complaint: Complaint): string {
  const texts = executionsTexts().wrong;
  if (complaint.kind === "person") {
    return texts.person;
  }
  const { key = "", value } = complaint.term;
  return `${complaint.kind === "key" ? texts.key(key) : texts.value(key, value)}.`;
}
