import { useState } from "react";
import { giveRole } from "../../api/people.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Ask } from "../Ask.tsx";
import { Picker, type Picked } from "./Picker.tsx";
import { firstRole, readRole, RoleFields } from "./RoleFields.tsx";

/** Gives a role to a user or a group. Without one, the person chooses it here. */
export function GiveRole({ to, close }: { to?: Picked; close: () => void }) {
  const texts = peopleTexts();
  const [once] = useState(() => crypto.randomUUID());
  const [typed, setTyped] = useState(firstRole);
  const [picked, setPicked] = useState(to);
  const [missing, setMissing] = useState(false);
  const act = async () => {
    setMissing(picked === undefined);
    if (picked === undefined) {
      return;
    }
    const holder = picked.kind === "user" ? { user_id: picked.id } : { group_id: picked.id };
    await giveRole(holder, await readRole(typed), once);
    close();
  };
  return (
    <Ask title={to ? texts.giveTo(to.name) : texts.give} button={texts.giveButton} close={close} act={act}>
      {(at) => (
        <>
          {!to && <Picker groups label={texts.who} picked={picked} pick={setPicked} />}
          {missing && picked === undefined && (
            <p role="alert" className="complaint">
              {texts.whoMissing}
            </p>
          )}
          <RoleFields value={typed} change={setTyped} at={at} />
          <p className="meta">{texts.giveHelp}</p>
        </>
      )}
    </Ask>
  );
}
