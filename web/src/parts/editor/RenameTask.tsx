import { Button, TextInput } from "@mantine/core";
import { useState, type RefObject } from "react";
import type { Code } from "../../editor/code.ts";
import { pathAt, pointerOf } from "../../editor/path.ts";
import { lengthOfTask, namesBeside, renamed, reserved } from "../../editor/tasks.ts";
import { taskNameTexts } from "../../messages/taskname.ts";
import { Dialog } from "../Dialog.tsx";

/** Gives the task at the cursor another name, also where `then` leads to it. */
export function RenameTask({
  code,
  close,
  tell,
}: {
  code: RefObject<Code | null>;
  close: () => void;
  /** Says what has been done. */
  tell: (text: string) => void;
}) {
  const texts = taskNameTexts();
  const [task] = useState(() => {
    const { tree, text, cursor } = code.current?.written ?? {};
    if (tree === undefined || text === undefined || cursor === undefined) {
      return undefined;
    }
    const place = pathAt(tree, text, cursor);
    const path = place.slice(0, lengthOfTask(place));
    return path.length === 0
      ? undefined
      : { path, name: String(path.at(-1)), beside: namesBeside(tree, text, path), tree, text };
  });
  const [name, setName] = useState(task?.name ?? "");
  const [complaint, setComplaint] = useState<string>();
  if (!task) {
    return (
      <Dialog title={texts.rename} close={close}>
        <p>{texts.none}</p>
      </Dialog>
    );
  }
  const next = name.trim();
  const problem =
    next === ""
      ? texts.empty
      : task.beside.includes(next)
        ? texts.taken(next)
        : reserved.includes(next)
          ? texts.reserved(next)
          : undefined;
  const rename = () => {
    setComplaint(problem);
    if (problem !== undefined) {
      return;
    }
    close();
    code.current?.change(renamed(task.tree, task.text, task.path, next));
    code.current?.goToPointer(pointerOf([...task.path.slice(0, -1), next]));
    tell(texts.renamed(task.name, next));
  };
  return (
    <Dialog title={texts.renameTitle(task.name)} close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          rename();
        }}
      >
        <TextInput
          data-autofocus
          label={texts.name}
          description={texts.renameHelp}
          spellCheck={false}
          value={name}
          error={complaint}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <div className="row">
          <Button type="submit">{texts.rename}</Button>
        </div>
      </form>
    </Dialog>
  );
}
