import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMe } from "../../api/me.ts";
import { invite, removeUser, resetUser, setStatus, type Link, type User } from "../../api/people.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Action } from "../Action.tsx";
import { Ask } from "../Ask.tsx";
import { OnceLink } from "./OnceLink.tsx";

type Open = "disable" | "enable" | "reset" | "remove" | "again";

/** What an admin does with a user. Each dialog says what will happen, before it does. */
export function UserActions({
  user,
  roles,
  groups,
}: {
  user: User;
  /** How many roles the user has; undefined: it is not known yet, and what depends on it waits. */
  roles: number | undefined;
  groups: number;
}) {
  const texts = peopleTexts();
  const navigate = useNavigate();
  const self = useMe().user.id === user.id;
  const [open, setOpen] = useState<Open>();
  const [link, setLink] = useState<Link>();
  const [once, setOnce] = useState("");
  const show = (what: Open) => () => {
    setOnce(crypto.randomUUID());
    setOpen(what);
  };
  const close = () => setOpen(undefined);
  const sessions = user.sessions ?? 0;
  const keys = user.personal_keys ?? 0;
  return (
    <>
      {user.status === "active" && (
        <>
          <Action variant="default" onClick={show("reset")}>
            {texts.reset}
          </Action>
          <Action variant="default" onClick={show("disable")}>
            {texts.disable}
          </Action>
        </>
      )}
      {user.status === "disabled" && (
        <Action disabled={roles === undefined} onClick={show("enable")}>
          {texts.enable}
        </Action>
      )}
      {user.status === "invited" && <Action onClick={show("again")}>{texts.inviteAgain}</Action>}
      <Action variant="default" color="red" disabled={roles === undefined} onClick={show("remove")}>
        {user.status === "invited" ? texts.uninvite : texts.remove}
      </Action>

      {open === "disable" && (
        <Ask
          danger
          title={texts.disableTitle(user.name)}
          button={texts.disable}
          close={close}
          act={async () => {
            await setStatus(user.id, "disabled");
            close();
          }}
        >
          {self && <p>{texts.self}</p>}
          <p>{texts.disableHelp(sessions, keys)}</p>
          <p>{texts.disableKeeps}</p>
        </Ask>
      )}
      {open === "enable" && roles !== undefined && (
        <Ask
          title={texts.enableTitle(user.name)}
          button={texts.enable}
          close={close}
          act={async () => {
            await setStatus(user.id, "active");
            close();
          }}
        >
          <p>{texts.enableHelp(roles, groups, keys)}</p>
        </Ask>
      )}
      {open === "reset" && (
        <Ask
          title={texts.resetTitle(user.name)}
          button={texts.resetButton}
          close={close}
          act={async () => {
            setLink(await resetUser(user.id, once));
            close();
          }}
        >
          <p>{texts.resetHelp}</p>
          <p>{texts.resetEnds(sessions, keys)}</p>
        </Ask>
      )}
      {open === "again" && (
        <Ask
          title={texts.inviteAgainTitle(user.name)}
          button={texts.inviteAgain}
          close={close}
          act={async () => {
            const made = await invite({ email: user.email, name: user.name, grants: [] }, once);
            setLink(made.invitation ?? { expires_at: "", mailed: false });
            close();
          }}
        >
          <p>{texts.inviteAgainHelp}</p>
        </Ask>
      )}
      {open === "remove" && roles !== undefined && (
        <Ask
          danger
          title={user.status === "invited" ? texts.uninviteTitle(user.name) : texts.removeTitle(user.name)}
          button={user.status === "invited" ? texts.uninvite : texts.remove}
          close={close}
          act={async () => {
            await removeUser(user.id, () => navigate({ to: "/admin/users", search: {}, replace: true }));
          }}
        >
          {self && <p>{texts.self}</p>}
          {user.status === "invited" ? (
            <p>{texts.uninviteHelp}</p>
          ) : (
            <>
              <p>{texts.removeHelp(roles, groups, sessions, keys)}</p>
              <p>{texts.removeKeeps}</p>
            </>
          )}
        </Ask>
      )}
      {link && (
        <OnceLink
          title={user.status === "invited" ? texts.invited(user.name) : texts.resetMade(user.name)}
          link={link}
          email={user.email}
          close={() => setLink(undefined)}
        />
      )}
    </>
  );
}
