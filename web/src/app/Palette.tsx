import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useLostSince } from "../api/connection.ts";
import { environment } from "../api/environment.ts";
import { useMay, useMe } from "../api/me.ts";
import { languages, t } from "../messages/index.ts";
import { shellTexts } from "../messages/shell.ts";
import { Finder } from "../parts/Finder.tsx";
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
  const lost = useLostSince() !== undefined; // a person must not believe that the session has ended
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
    { name: texts.documentation, run: () => void open("/docs", "_blank", "noopener") },
    { name: texts.keys, run: showKeys },
    ...(lost ? [] : [{ name: texts.signOut, run: () => void signOut() }]),
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
  const commands = useCommands(text, showKeys);
  const texts = shellTexts().palette;
  return (
    <Finder
      title={texts.title}
      field={texts.field}
      text={text}
      change={setText}
      choices={commands.map((command) => ({ id: command.name, ...command }))}
      choose={(command) => command.run()}
      close={close}
    />
  );
}
