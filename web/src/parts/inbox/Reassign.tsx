import { ActionIcon } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState } from "react";
import { reassign, type Task } from "../../api/tasks.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { Ask } from "../Ask.tsx";
import { Picker } from "../people/Picker.tsx";

/** One who may answer: an e-mail address or id of a user, or the name of a group. */
interface Assignee {
  kind: "user" | "group";
  name: string;
}

/** Says anew who may answer a task. */
export default function Reassign({ task, close }: { task: Task; close: () => void }) {
  const texts = tasksTexts();
  const [list, setList] = useState<readonly Assignee[]>(() => [
    ...task.assignees.groups.map((name) => ({ kind: "group" as const, name })),
    ...task.assignees.users.map((name) => ({ kind: "user" as const, name })),
  ]);
  const names = (kind: Assignee["kind"]) => list.filter((each) => each.kind === kind).map((each) => each.name);
  return (
    <Ask
      title={texts.reassignTitle(task.title)}
      button={texts.reassignSend}
      close={close}
      act={async () => {
        await reassign(task.id, { users: names("user"), groups: names("group") });
        close();
      }}
    >
      <p>{texts.reassignHelp}</p>
      <ul className="chips">
        {list.map((each) => (
          <li key={`${each.kind} ${each.name}`} className="chip">
            {each.name}
            <ActionIcon
              size={24}
              aria-label={texts.removeOf(each.name)}
              onClick={() => setList(list.filter((other) => other !== each))}
            >
              <IconX aria-hidden size={12} />
            </ActionIcon>
          </li>
        ))}
      </ul>
      <Picker
        key={list.length}
        label={texts.to}
        groups
        picked={undefined}
        pick={(picked) => {
          if (picked) {
            const name = picked.kind === "group" ? picked.name : (picked.email ?? picked.id);
            const rest = list.filter((each) => each.kind !== picked.kind || each.name !== name);
            setList([...rest, { kind: picked.kind, name }]);
          }
        }}
      />
    </Ask>
  );
}
