import { useCallback, useEffect, useRef, useState } from "react";
import { environment } from "../../api/environment.ts";
import { Problem } from "../../api/problem.ts";
import { isOpen, putDraft, type ServerDraft, type Shown, type Task } from "../../api/tasks.ts";
import type { FormField } from "../../api/workflows.ts";
import { draftOf, startOf, startWith, type Draft } from "../form/draft.ts";
import { read } from "../form/read.ts";
import { formOf } from "../form/whole.ts";
import { put } from "../kept.ts";

/** What a person has entered to answer a task. */
export interface Entered {
  /** undefined: the task has no form. */
  draft: Draft | undefined;
  comment: string;
  files: Shown[];
}

/** What is kept of it in this window. */
export interface Kept extends Entered {
  /** What it was entered for: another form does not take it. */
  form: string;
  /** When it was changed last. */
  at: number;
  /** What the server has of it, by its time; undefined: nothing. */
  saved?: string | undefined;
  /** It was changed since. */
  changed: boolean;
}

/** The draft of the server, with the files that it names. */
export type Remote = ServerDraft & { references: Shown[] };

/** The form of a task; undefined: only an outcome is asked for. */
export const formOfTask = (task: Task): FormField | undefined =>
  task.form === undefined ? undefined : formOf(task.outline);

function beginning(task: Task, form: FormField | undefined): Entered {
  const data = task.data ?? undefined;
  const draft = form && (data === undefined ? startOf(form) : startWith(form, data));
  return { draft, comment: "", files: [] };
}

/** What a task opens with: what this window has, or what the person has entered elsewhere since. */
export function newer(
  here: Kept | undefined,
  there: Remote | undefined,
  form: FormField | undefined,
  mark: string,
): Kept | undefined {
  const saved = there?.updated_at;
  if (there === undefined || saved === undefined || here?.saved === saved) {
    return here;
  }
  const at = Date.parse(saved);
  if (here && here.at >= at) {
    return here;
  }
  const draft = form && (there.data === undefined ? startOf(form) : draftOf(form, there.data));
  return { draft, comment: there.comment ?? "", files: there.references, form: mark, at, saved, changed: false };
}

const place = (id: string) => `chargehand-task:${environment()}:${id}`;

function readKept(id: string, form: string): Kept | undefined {
  const text = sessionStorage.getItem(place(id));
  const kept = text === null ? undefined : (JSON.parse(text) as Kept);
  return kept?.form === form ? kept : undefined;
}

/** Whether the window has taken it: what it may store is limited. The server gets it all the same. */
const keep = (id: string, kept: Kept): boolean => put(place(id), JSON.stringify(kept));
export const forget = (id: string): void => sessionStorage.removeItem(place(id));

const save = (id: string, form: FormField | undefined, { draft, comment, files }: Kept): Promise<ServerDraft> => {
  const data = form && draft && read(form, draft).value;
  return putDraft(id, {
    ...(data !== undefined && { data }),
    ...(comment !== "" && { comment }),
    ...(files.length > 0 && { files: files.map((file) => file.uri) }),
  });
};

const turns = new Map<string, Promise<unknown>>();

/** Begins when all that was begun before for the same task has ended, well or not, so that nothing overtakes. */
export function inTurn<T>(id: string, act: () => Promise<T>): Promise<T> {
  const done = (turns.get(id) ?? Promise.resolve()).then(act);
  const ended = done
    .catch(() => undefined)
    .then(() => {
      if (turns.get(id) === ended) {
        turns.delete(id);
      }
    });
  turns.set(id, ended);
  return done;
}

/** How long a person must have typed nothing before it is saved. After each failure in a row it is twice as long. */
const pause = 2000;
const mostDoubled = 5;

export interface Entering {
  entered: Entered;
  /** undefined: it is as it began. */
  kept: Kept | undefined;
  /** The server did not take it. */
  unsaved: boolean;
  /** The server still has what was discarded here. */
  stays: boolean;
  /** The window could not keep what was typed last. */
  full: boolean;
  change: (part: Partial<Entered>) => void;
  discard: () => void;
  /** Saves nothing while an answer is on its way. */
  hold: (held: boolean) => void;
}

/**
 * What is typed into a task that is open. Every change is kept in the window at once, and on the server after two
 * seconds, until the task is answered: another task, another page and another browser lose nothing.
 */
export function useEntered(task: Task, form: FormField | undefined, remote: Remote | undefined): Entering {
  const { id } = task;
  const mark = JSON.stringify([task.form, task.data]);
  const [kept, setKept] = useState(() => newer(readKept(id, mark), remote, form, mark));
  const [first] = useState(() => beginning(task, form));
  const [unsaved, setUnsaved] = useState(false);
  const [stays, setStays] = useState(false);
  const [full, setFull] = useState(false);
  const [failures, setFailures] = useState(0);
  const [held, hold] = useState(false);
  const now = useRef(kept); // the same as the state, before the page is drawn again
  const latest = useRef<() => void>(undefined);
  const set = useCallback((next: Kept | undefined) => {
    now.current = next;
    setKept(next);
  }, []);
  const due = kept?.changed === true && !held && isOpen(task) && task.refused === undefined ? kept : undefined;
  useEffect(() => {
    if (!due) {
      latest.current = undefined;
      return undefined;
    }
    const send = async () => {
      latest.current = undefined;
      try {
        // While it waited for its turn, more may have been typed, which is saved after this, or all discarded.
        const sent = await inTurn(id, async () => now.current?.at === due.at && (await save(id, form, due)));
        if (sent === false) {
          return;
        }
        const part = (of: Kept): Kept => ({ ...of, saved: sent.updated_at, changed: of.at !== due.at });
        const stored = readKept(id, mark); // the task may be closed by now, and open again
        if (stored) {
          keep(id, part(stored));
        }
        if (now.current) {
          set(part(now.current));
        }
        setUnsaved(false);
        setFailures(0);
      } catch (problem) {
        setUnsaved(true);
        if (!(problem instanceof Problem) || problem.passing) {
          setFailures((before) => before + 1); // once more
        }
      }
    };
    const timer = setTimeout(() => void send(), pause * 2 ** Math.min(failures, mostDoubled));
    latest.current = () => void send();
    return () => clearTimeout(timer);
  }, [id, form, mark, due, failures, set]);
  useEffect(() => () => latest.current?.(), []); // the page is left before it was saved
  const change = useCallback(
    (part: Partial<Entered>) => {
      const next = { ...(now.current ?? first), ...part, form: mark, at: Date.now(), changed: true };
      setFull(!keep(id, next));
      setStays(false); // it is replaced
      set(next);
    },
    [id, first, mark, set],
  );
  const discard = () => {
    forget(id);
    set(undefined);
    setUnsaved(false);
    setStays(false);
    setFailures(0);
    if (isOpen(task)) {
      inTurn(id, () => putDraft(id, {})).catch(() => setStays(now.current === undefined));
    }
  };
  return { entered: kept ?? first, kept, unsaved, stays, full, change, discard, hold };
}
