import { useState, type RefObject } from "react";
import type { Code } from "../../editor/code.ts";
import { pointerOf } from "../../editor/path.ts";
import { tasksIn } from "../../editor/tasks.ts";
import { taskNameTexts } from "../../messages/taskname.ts";
import { Finder } from "../Finder.tsx";

/** Finds a task by its name, or by that of one around it. */
export function GoToTask({ code, close }: { code: RefObject<Code | null>; close: () => void }) {
  const texts = taskNameTexts();
  const [tasks] = useState(() => {
    const { tree, text } = code.current?.written ?? {};
    return tree === undefined || text === undefined
      ? []
      : tasksIn(tree, text).map(({ path, from }) => ({
          id: pointerOf(path),
          // Names alone: numbers and keys between them say nothing to a reader.
          name: path.filter((_, i) => typeof path[i - 1] === "number").join(" › "),
          about: texts.line(text.slice(0, from).split("\n").length),
        }));
  });
  const [wanted, setWanted] = useState("");
  return (
    <Finder
      title={texts.goTo}
      field={texts.field}
      text={wanted}
      change={setWanted}
      choices={tasks.filter((task) => task.name.toLowerCase().includes(wanted.trim().toLowerCase()))}
      choose={(task) => code.current?.goToPointer(task.id)}
      close={close}
    />
  );
}
