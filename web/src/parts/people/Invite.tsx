import { Checkbox, TextInput } from "@mantine/core";
import "@mantine/core/styles/Checkbox.css";
import { useState } from "react";
import { invite, type Link, type User } from "../../api/people.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Ask } from "../Ask.tsx";
import { firstRole, readRole, RoleFields } from "./RoleFields.tsx";
import { OnceLink } from "./OnceLink.tsx";

/** Invites a person, and shows the link this once. */
export function Invite({ close }: { close: () => void }) {
  const texts = peopleTexts();
  const [once] = useState(() => crypto.randomUUID());
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [withRole, setWithRole] = useState(true);
  const [role, setRole] = useState(firstRole);
  const [made, setMade] = useState<{ user: User; link: Link }>();
  if (made) {
    return <OnceLink title={texts.invited(made.user.name)} link={made.link} email={made.user.email} close={close} />;
  }
  const act = async () => {
    const grants = withRole ? [await readRole(role, "/grants/0")] : [];
    const user = await invite({ email: email.trim(), name: name.trim(), grants }, once);
    setMade({ user, link: user.invitation ?? { expires_at: "", mailed: false } });
  };
  return (
    <Ask title={texts.invite} button={texts.inviteButton} close={close} act={act}>
      {(at) => (
        <>
          <TextInput
            data-autofocus
            required
            withAsterisk={false}
            type="email"
            autoComplete="off"
            label={texts.email}
            error={at("/email")}
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <TextInput
            required
            withAsterisk={false}
            autoComplete="off"
            label={texts.name}
            error={at("/name")}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Checkbox
            label={texts.withRole}
            description={texts.withRoleHelp}
            checked={withRole}
            onChange={(event) => setWithRole(event.currentTarget.checked)}
          />
          {withRole && <RoleFields value={role} change={setRole} at={at} pointer="/grants/0" />}
          <p className="meta">{texts.inviteHelp}</p>
        </>
      )}
    </Ask>
  );
}
