import { Button, FocusTrap, NativeSelect, useMantineColorScheme } from "@mantine/core";
import { useClickOutside } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { KeyboardEvent, RefObject } from "react";
import { useMe } from "../api/me.ts";
import { currentLanguage, languages, t, type Language } from "../messages/index.ts";
import { shellTexts } from "../messages/shell.ts";
import { Action } from "../parts/Action.tsx";
import { change, changeLanguage, themes, type Theme } from "../parts/preferences.ts";
import { signOut } from "./signOut.ts";

interface Props {
  name: string;
  /** What has opened the panel, and gets the focus back. */
  button: RefObject<HTMLButtonElement | null>;
  close: () => void;
  showKeys: () => void;
}

/** Who is signed in, and how the person wants to see everything. */
export default function AccountPanel({ name, button, close, showKeys }: Props) {
  const { user, version } = useMe();
  const { colorScheme } = useMantineColorScheme();
  const texts = shellTexts().account;
  const panel = useClickOutside<HTMLDivElement>((event) => {
    if (!button.current?.contains(event.target as Node)) {
      close();
    }
  });
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
      button.current?.focus();
    }
  };
  return (
    <FocusTrap>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes every dialog */}
      <div ref={panel} className="account" role="dialog" aria-label={name} tabIndex={-1} onKeyDown={press}>
        <p>
          <strong>{user.name}</strong>
          <br />
          {user.email}
        </p>
        <NativeSelect
          label={texts.theme}
          value={colorScheme}
          onChange={(event) => void change({ theme: event.currentTarget.value as Theme })}
          data={themes.map((value) => ({ value, label: texts.themes[value] }))}
        />
        <NativeSelect
          label={texts.language}
          value={currentLanguage()}
          onChange={(event) => void changeLanguage(event.currentTarget.value as Language)}
          data={languages.map((value) => ({ value, label: texts.languages[value] }))}
        />
        <Link to="/account" onClick={close}>
          {t().nav.settings}
        </Link>
        <Link to="/account/api-keys" onClick={close}>
          {t().nav.apiKeys}
        </Link>
        <Link to="/account/security" onClick={close}>
          {t().nav.security}
        </Link>
        <Button
          variant="default"
          onClick={() => {
            close();
            showKeys();
          }}
        >
          {shellTexts().keys.title}
        </Button>
        <Action variant="default" onClick={() => void signOut()}>
          {texts.signOut}
        </Action>
        <p className="meta">
          {texts.version(version)},{" "}
          <a href="/docs" target="_blank" rel="noopener">
            {texts.documentation}
          </a>
          , <a href="/licences">{texts.licences}</a>
        </p>
      </div>
    </FocusTrap>
  );
}
