import { TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { deleteGroup, renameGroup, type Group } from "../../api/people.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Action } from "../Action.tsx";
import { Ask } from "../Ask.tsx";

/** Renames or deletes a group. What deleting ends has to be known before. */
export function GroupActions({ group, roles }: { group: Group; roles: number | undefined }) {
  const texts = peopleTexts();
  const navigate = useNavigate();
  const [open, setOpen] = useState<"rename" | "delete">();
  const [name, setName] = useState(group.name);
  const close = () => setOpen(undefined);
  return (
    <>
      <Action
        variant="default"
        onClick={() => {
          setName(group.name);
          setOpen("rename");
        }}
      >
        {texts.rename}
      </Action>
      <Action variant="default" color="red" disabled={roles === undefined} onClick={() => setOpen("delete")}>
        {texts.deleteGroup}
      </Action>
      {open === "rename" && (
        <Ask
          title={texts.renameTitle(group.name)}
          button={texts.rename}
          close={close}
          act={async () => {
            await renameGroup(group.id, name);
            close();
          }}
        >
          {(at) => (
            <TextInput
              data-autofocus
              required
              withAsterisk={false}
              label={texts.name}
              error={at("/name")}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Ask>
      )}
      {open === "delete" && roles !== undefined && (
        <Ask
          danger
          title={texts.deleteTitle(group.name)}
          button={texts.deleteGroup}
          close={close}
          act={() => deleteGroup(group.id, () => navigate({ to: "/admin/groups", search: {}, replace: true }))}
        >
          <p>{texts.deleteHelp(group.members.length, group.more_members, roles)}</p>
        </Ask>
      )}
    </>
  );
}
