import { TextInput } from "@mantine/core";
import { useId, useState, type KeyboardEvent } from "react";
import { Dialog } from "./Dialog.tsx";

/** What a Finder offers. */
export interface Choice {
  id: string;
  name: string;
  about?: string;
}

/** A dialog with a field, and below it what fits the text in it. The field has the focus and the keys. */
export function Finder<T extends Choice>({
  title,
  field,
  text,
  change,
  choices,
  choose,
  close,
}: {
  title: string;
  field: string;
  text: string;
  change: (text: string) => void;
  choices: readonly T[];
  /** The dialog is closed by then. */
  choose: (choice: T) => void;
  close: () => void;
}) {
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const take = (choice: T | undefined) => {
    close();
    if (choice) {
      choose(choice);
    }
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + choices.length) % Math.max(1, choices.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(choices[chosen]);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <TextInput
        data-autofocus
        size="sm"
        role="combobox"
        aria-label={field}
        placeholder={field}
        aria-expanded
        aria-controls={id}
        aria-activedescendant={choices.length > 0 ? `${id}-${chosen}` : undefined}
        value={text}
        onChange={(event) => {
          change(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <div id={id} role="listbox" aria-label={title} className="options">
        {choices.map((choice, i) => (
          // The field has the focus and the keys.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={choice.id}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            ref={i === chosen ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
            onPointerMove={() => setChosen(i)}
            onClick={() => take(choice)}
          >
            {choice.name} {choice.about !== undefined && <span className="meta">{choice.about}</span>}
          </div>
        ))}
      </div>
    </Dialog>
  );
}
