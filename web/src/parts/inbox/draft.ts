import { useCallback, useState } from "react";
import { environment } from "../../api/environment.ts";
import type { Shown, Task } from "../../api/tasks.ts";
import { startOf, startWith, type Draft } from "../form/draft.ts";
import { formOf } from "../form/whole.ts";
import type { FormField } from "../../api/workflows.ts";

/** What a person has entered to answer a task. */
export interface Entered {
  /** undefined: the task has no form. */
  draft: Draft | undefined;
  comment: string;
  files: Shown[];
}

/** What is kept of it, and when. */
interface Kept extends Entered {
  form: string;
  at: number;
}

/** The form of a task; undefined: only an outcome is asked for. */
export const formOfTask = (task: Task): FormField | undefined =>
  task.form === undefined ? undefined : formOf(task.outline);

function beginning(task: Task, form: FormField | undefined): Entered {
  const data = task.data ?? undefined;
  const draft = form && (data === undefined ? startOf(form) : startWith(form, data));
  return { draft, comment: "", files: [] };
}

const place = (id: string) => `chargehand-task:${environment()}:${id}`;

function readKept(id: string, form: string): Kept | undefined {
  const text = sessionStorage.getItem(place(id));
  const kept = text === null ? undefined : (JSON.parse(text) as Kept);
  return kept?.form === form ? kept : undefined;
}

export const forget = (id: string): void => sessionStorage.removeItem(place(id));

export interface Entering {
  entered: Entered;
  /** When it was changed last; undefined: it is as it began. */
  at: number | undefined;
  change: (part: Partial<Entered>) => void;
  discard: () => void;
}

/**
 * What is typed into a task that is open. Every change is kept in the window, until the task is answered: another task,
 * another page and loading the page again lose nothing.
 */
export function useEntered(task: Task, form: FormField | undefined): Entering {
  const mark = JSON.stringify([task.form, task.data]);
  const [kept, setKept] = useState(() => readKept(task.id, mark));
  const [first] = useState(() => beginning(task, form));
  const entered = kept ?? first;
  const change = useCallback(
    (part: Partial<Entered>) =>
      setKept((before) => {
        const next = { ...(before ?? first), ...part, form: mark, at: Date.now() };
        sessionStorage.setItem(place(task.id), JSON.stringify(next));
        return next;
      }),
    [task.id, first, mark],
  );
  const discard = () => {
    forget(task.id);
    setKept(undefined);
  };
  return { entered, at: kept?.at, change, discard };
}
