import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useId, useRef, useState, type KeyboardEvent } from "react";
import { useMay } from "../../api/me.ts";
import { workflowNamesQuestion } from "../../api/names.ts";
import { executionsTexts } from "../../messages/executions.ts";
import { complete, suggest, termAt, type Known, type Suggestion } from "./suggest.ts";

/** The filter as text, with what may follow at the caret. Arrow keys choose, Enter takes what is chosen, else applies. */
export function FilterField({ text, set, known }: { text: string; set: (text: string) => void; known: Known }) {
  const texts = executionsTexts();
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const [caret, setCaret] = useState<number>(); // undefined: nothing is suggested
  const [chosen, setChosen] = useState(-1);
  const typed = caret === undefined ? "" : termAt(text, caret).typed;
  const names = useWorkflowsLike(typed);
  const found =
    caret === undefined ? [] : suggest(typed, { ...known, workflow: [...names, ...(known.workflow ?? [])] });
  const look = () => {
    setCaret(field.current?.selectionStart ?? undefined);
    setChosen(-1);
  };
  const take = (suggestion: Suggestion) => {
    const next = complete(text, caret ?? text.length, suggestion);
    set(next.text);
    setCaret(suggestion.open ? next.caret : undefined);
    setChosen(-1);
    // The caret is set when the field has the text.
    requestAnimationFrame(() => field.current?.setSelectionRange(next.caret, next.caret));
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const suggestion = found[chosen];
    if (step !== undefined) {
      if (caret === undefined) {
        look();
      } else if (found.length > 0) {
        setChosen((chosen + step + (chosen < 0 && step < 0 ? 1 : 0) + found.length) % found.length);
      }
    } else if (event.key === "Enter" && suggestion) {
      take(suggestion);
    } else if (event.key === "Escape" && found.length > 0) {
      setCaret(undefined);
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <div className="text suggested">
      <TextInput
        ref={field}
        data-search
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={found.length > 0}
        aria-controls={found.length > 0 ? list : undefined}
        aria-activedescendant={chosen >= 0 ? `${list}-${chosen}` : undefined}
        autoComplete="off"
        label={texts.filter}
        placeholder={texts.filterHelp}
        title={texts.filterHelp}
        value={text}
        spellCheck={false}
        onChange={(event) => {
          set(event.currentTarget.value);
          look();
        }}
        onClick={look}
        onBlur={() => setCaret(undefined)}
        onKeyDown={press}
      />
      {found.length > 0 && (
        <div id={list} role="listbox" aria-label={texts.suggestions} className="options">
          {found.map((suggestion, place) => (
            // The field has the focus and the keys.
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
            <div
              key={suggestion.term}
              id={`${list}-${place}`}
              role="option"
              tabIndex={-1}
              aria-selected={place === chosen}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => take(suggestion)}
            >
              <code>{suggestion.term}</code>{" "}
              {suggestion.open && (
                <span className="meta">{texts.keys[suggestion.term.slice(0, -1) as keyof typeof texts.keys]}</span>
              )}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

/** Names of workflows that have what is typed after workflow: in them. */
function useWorkflowsLike(typed: string): readonly string[] {
  const may = useMay()("workflows:read");
  const wanted = /^workflow:(.*)$/i.exec(typed)?.[1];
  const [q] = useDebouncedValue(wanted?.split("/").at(-1) ?? "", 300);
  const asked = useQuery({ ...workflowNamesQuestion(q), enabled: may && wanted !== undefined });
  return asked.data?.data.map((workflow) => `${workflow.namespace}/${workflow.name}`) ?? [];
}
