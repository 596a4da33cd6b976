import type { RefObject } from "react";
import type { Code } from "../../editor/code.ts";
import { GoToTask } from "./GoToTask.tsx";
import { RenameTask } from "./RenameTask.tsx";

/** Finds a task of the text, or gives the one at the cursor another name. */
export default function TaskDialog({
  what,
  ...rest
}: {
  what: "go" | "rename";
  code: RefObject<Code | null>;
  close: () => void;
  /** Says what has been done. */
  tell: (text: string) => void;
}) {
  return what === "go" ? <GoToTask {...rest} /> : <RenameTask {...rest} />;
}
