import {
  ActionIcon,
  Button,
  NativeSelect,
  Popover,
  useMantineColorScheme,
  type MantineColorScheme,
} from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { IconUserCircle } from "@tabler/icons-react";
import { useState } from "react";
import { useMe } from "../api/me.ts";
import { currentLanguage, languages, setLanguage, t, type Language } from "../messages/index.ts";
import { signOut } from "./signOut.ts";

const themes = ["auto", "light", "dark"] as const;

/** Who is signed in, and how the person wants to see everything. */
export function AccountMenu({ showKeys }: { showKeys: () => void }) {
  const [open, setOpen] = useState(false);
  const { user, version } = useMe();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const texts = t().account;
  const name = texts.menu(user.name);
  return (
    <Popover opened={open} onChange={setOpen} position="bottom-end" withinPortal={false} trapFocus width={240}>
      <Popover.Target>
        <ActionIcon size={32} aria-label={name} title={user.name} onClick={() => setOpen(!open)}>
          <IconUserCircle aria-hidden size={20} stroke={1.75} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown className="account" aria-label={name}>
        <p>
          <strong>{user.name}</strong>
          <br />
          {user.email}
        </p>
        <NativeSelect
          label={texts.theme}
          value={colorScheme}
          onChange={(event) => setColorScheme(event.currentTarget.value as MantineColorScheme)}
          data={themes.map((value) => ({ value, label: texts.themes[value] }))}
        />
        <NativeSelect
          label={texts.language}
          value={currentLanguage()}
          onChange={(event) => void setLanguage(event.currentTarget.value as Language, true)}
          data={languages.map((value) => ({ value, label: texts.languages[value] }))}
        />
        <Link to="/account/api-keys" onClick={() => setOpen(false)}>
          {t().apiKeys.title}
        </Link>
        <Link to="/account/security" onClick={() => setOpen(false)}>
          {t().security.title}
        </Link>
        <Button
          variant="default"
          onClick={() => {
            setOpen(false);
            showKeys();
          }}
        >
          {t().keys.title}
        </Button>
        <Button variant="default" onClick={() => void signOut()}>
          {texts.signOut}
        </Button>
        <p className="meta">
          {texts.version(version)}, <a href="/licences">{texts.licences}</a>
        </p>
      </Popover.Dropdown>
    </Popover>
  );
}
