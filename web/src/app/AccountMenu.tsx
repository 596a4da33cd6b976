import { ActionIcon } from "@mantine/core";
import { IconUserCircle } from "@tabler/icons-react";
import { Suspense, useRef, useState } from "react";
import { useMe } from "../api/me.ts";
import { t } from "../messages/index.ts";
import { later } from "../parts/later.tsx";

const AccountPanel = later(() => import("./AccountPanel.tsx"));

/** Opens what belongs to the person: who it is, how everything looks, keys, signing out. */
export function AccountMenu({ showKeys }: { showKeys: () => void }) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const { user } = useMe();
  const name = t().nav.account(user.name);
  return (
    <div className="account-menu">
      <ActionIcon
        ref={button}
        size={32}
        aria-label={name}
        aria-haspopup="dialog"
        aria-expanded={open}
        title={user.name}
        onClick={() => setOpen(!open)}
      >
        <IconUserCircle aria-hidden size={20} stroke={1.75} />
      </ActionIcon>
      <Suspense>
        {open && <AccountPanel name={name} button={button} close={() => setOpen(false)} showKeys={showKeys} />}
      </Suspense>
    </div>
  );
}
