import { TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState, type KeyboardEvent } from "react";
import { environment } from "../api/environment.ts";
import { useMay, useMe } from "../api/me.ts";
import { languages, t } from "../messages/index.ts";
import { shellTexts } from "../messages/shell.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { change, changeLanguage, themes } from "../parts/preferences.ts";
import { allSections } from "./sections.ts";
import { signOut } from "./signOut.ts";

interface Command {
  name: string;
  run: () => void;
}

const wholeId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Every command that the person may use, by name; text that is no command searches executions. */
function useCommands(text: string, showKeys: () => void): Command[] {
  const navigate = useNavigate();
  const may = useMay();
  const { environments } = useMe();
  const texts = shellTexts().palette;
  const fixed: Command[] = [
    ...allSections
      .filter((section) => section.scopes.some(may))
      .map((section) => ({
        name: texts.goTo(section.name()),
        run: () => void navigate({ to: section.to, search: {} }),
      })),
    { name: texts.goTo(t().nav.settings), run: () => void navigate({ to: "/account" }) },
    { name: texts.goTo(t().nav.apiKeys), run: () => void navigate({ to: "/account/api-keys" }) },
    { name: texts.goTo(t().nav.security), run: () => void navigate({ to: "/account/security" }) },
    ...environments
      .filter((name) => name !== environment())
      .map((name) => ({
        name: texts.environment(t().environment[name]),
        run: () => void navigate({ to: "/", search: { env: name === "test" ? "test" : undefined } as never }),
      })),
    ...themes.map((name) => ({
      name: texts.theme(shellTexts().account.themes[name]),
      run: () => void change({ theme: name }),
    })),
    ...languages.map((name) => ({
      name: texts.language(shellTexts().account.languages[name]),
      run: () => void changeLanguage(name),
    })),
    { name: texts.keys, run: showKeys },
    { name: texts.signOut, run: () => void signOut() },
  ];
  const wanted = text.trim();
  const found = fixed.filter((command) => command.name.toLowerCase().includes(wanted.toLowerCase()));
  if (wholeId.test(wanted)) {
    const run = () => void navigate({ to: "/executions/$id", params: { id: wanted } });
    return [{ name: texts.openExecution(wanted), run }, ...found];
  }
  if (wanted.length > 0) {
    const run = () => void navigate({ to: "/executions", search: { filter: wanted } });
    return [...found, { name: texts.searchExecutions(wanted), run }];
  }
  return found;
}

export default function Palette({ close, showKeys }: { close: () => void; showKeys: () => void }) {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const commands = useCommands(text, showKeys);
  const id = useId();
  const run = (command: Command | undefined) => {
    close();
    command?.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      setChosen((chosen + step + commands.length) % Math.max(1, commands.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(commands[chosen]);
    }
  };
  return (
    <Dialog title={shellTexts().palette.title} close={close}>
      <TextInput
        data-autofocus
        size="sm"
        role="combobox"
        aria-label={shellTexts().palette.field}
        placeholder={shellTexts().palette.field}
        aria-expanded
        aria-controls={id}
        aria-activedescendant={commands.length > 0 ? `${id}-${chosen}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <div id={id} role="listbox" aria-label={shellTexts().palette.title} className="options">
        {commands.map((command, i) => (
          // The field has the focus and the keys.
          // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={command.name}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            ref={i === chosen ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
            onPointerMove={() => setChosen(i)}
            onClick={() => run(command)}
          >
            {command.name}
          </div>
        ))}
      </div>
    </Dialog>
  );
}
