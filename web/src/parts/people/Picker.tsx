import { Button, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useId, useState, type KeyboardEvent } from "react";
import { foundQuestion } from "../../api/people.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Failure } from "../Notice.tsx";

/** A user or a group that a person has chosen. */
export interface Picked {
  kind: "user" | "group";
  id: string;
  name: string;
  email?: string;
}

/** A field that finds active users, and groups where they are wanted, by the beginning of their names. */
export function Picker({
  label,
  groups,
  picked,
  pick,
}: {
  label: string;
  groups: boolean;
  picked: Picked | undefined;
  pick: (picked: Picked | undefined) => void;
}) {
  const texts = peopleTexts();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const [wanted] = useDebouncedValue(text.trim(), 200);
  const found = useQuery({ ...foundQuestion(wanted), enabled: wanted !== "" });
  const id = useId();
  const options: Picked[] = [
    ...(groups ? (found.data?.groups ?? []) : []).map((each) => ({ kind: "group" as const, ...each })),
    ...(found.data?.users ?? []).map((each) => ({ kind: "user" as const, ...each })),
  ];
  if (picked) {
    return (
      <div className="picked">
        <span>
          {label}: <strong>{picked.name}</strong> <span className="meta">{picked.email ?? texts.group}</span>
        </span>
        <Button variant="default" onClick={() => pick(undefined)}>
          {texts.another}
        </Button>
      </div>
    );
  }
  const current = wanted === text.trim(); // else other options are on their way
  const open = wanted !== "" && found.data !== undefined;
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + options.length) % Math.max(1, options.length));
    } else if (event.key === "Enter") {
      event.preventDefault(); // it chooses, and does not send the form
      if (current) {
        pick(options[chosen]);
      }
    }
  };
  return (
    <div>
      <TextInput
        data-autofocus
        role="combobox"
        label={label}
        description={groups ? texts.pickAnyHelp : texts.pickHelp}
        autoComplete="off"
        spellCheck={false}
        aria-expanded={open}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={open && current && options.length > 0 ? `${id}-${chosen}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      {found.error && <Failure error={found.error} retry={() => void found.refetch()} />}
      <div id={id} role="listbox" aria-label={label} className="options" hidden={!open || options.length === 0}>
        {options.map((each, i) => (
          // The field has the focus and the keys.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={each.id}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={current && i === chosen}
            onPointerMove={() => setChosen(i)}
            onClick={() => pick(each)}
          >
            {each.name} <span className="meta">{each.email ?? texts.group}</span>
          </div>
        ))}
      </div>
      <p role="status" className="meta">
        {open && options.length === 0 && texts.noMatch(wanted)}
      </p>
    </div>
  );
}
