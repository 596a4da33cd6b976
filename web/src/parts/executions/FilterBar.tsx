import { ActionIcon, Button, NativeSelect } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState } from "react";
import { executionsTexts } from "../../messages/executions.ts";
import { t } from "../../messages/index.ts";
import { keys, parse, print, withOnly, type Complaint, type Key } from "../filter.ts";
import { states } from "../state.ts";
import { FilterField } from "./FilterField.tsx";
import type { Known } from "./suggest.ts";

const times = ["-1h", "-24h", "-7d"] as const;

/** The filter of a list, as text and as choices of what is asked for most. Another filter is another bar (key). */
export function FilterBar({
  filter,
  complaints,
  known,
  apply,
}: {
  filter: string;
  complaints: readonly Complaint[];
  /** Values that are in the list. */
  known: Known;
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
        <FilterField text={text} set={setText} known={known} />
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
      {terms.length > 0 && (
        <ul className="chips" aria-label={texts.chips}>
          {terms.map((term, place) => (
            <li key={print([term])} className="chip">
              <code>{print([term])}</code>
              <ActionIcon
                variant="subtle"
                size={24}
                aria-label={texts.remove(print([term]))}
                title={texts.remove(print([term]))}
                onClick={() => apply(print(terms.toSpliced(place, 1)))}
              >
                <IconX aria-hidden size={12} />
              </ActionIcon>
            </li>
          ))}
        </ul>
      )}
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
