import { useRef, useState, type RefObject } from "react";
import { apply, exists, readBase, type Base } from "../../api/definitions.ts";
import { Problem } from "../../api/problem.ts";
import type { Code, Remark } from "../../editor/code.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { remarksOf } from "./useValidation.ts";

/** What has become of a definition that was saved. */
export interface Saved {
  /** Namespace and name. */
  name: string;
  draft: boolean;
}

/** What became of sending; nothing of it while something else is being sent. */
interface Sent {
  saved?: Saved;
  conflict?: true;
  error?: unknown;
}

const none: readonly Remark[] = [];
const never = new AbortController().signal;

/** Saves the text of an editor as a draft, or publishes it, unless another author has changed the workflow since. */
export function useSaving({
  code,
  first,
  name,
}: {
  code: RefObject<Code | null>;
  first: Base;
  name: string | undefined;
}) {
  const [base, setBase] = useState(first);
  const [known, setKnown] = useState(name); // the workflow that base is of
  const [busy, setBusy] = useState(false);
  const [status, setStatus] = useState("");
  const [error, setError] = useState<unknown>();
  const [wrong, setWrong] = useState<{ text: string; remarks: readonly Remark[] }>();
  const [conflict, setConflict] = useState<Base & { name: string }>();
  const once = useRef({ of: "", key: "" });

  const refuse = (problem: unknown, text: string) => {
    const fields = problem instanceof Problem ? problem.fields.filter((field) => field.line !== undefined) : [];
    if (fields.length > 0) {
      setWrong({ text, remarks: remarksOf("error", fields as Parameters<typeof remarksOf>[1]) });
      setStatus(definitionTexts().editor.refused(fields.length));
    } else {
      setError(problem);
    }
  };

  const send = async (draft: boolean, message = ""): Promise<Sent> => {
    const texts = definitionTexts().editor;
    if (!code.current || busy) {
      return {};
    }
    const { text } = code.current;
    const { namespace, name: last } = code.current.named;
    const own = `${namespace}/${last}`;
    const id = `${namespace}.${last}`; // as paths of the API have it
    const isKnown = base.tag !== undefined && own === known;
    const content = JSON.stringify([text, draft, message, base.tag]);
    if (once.current.of !== content) {
      once.current = { of: content, key: crypto.randomUUID() };
    }
    setBusy(true);
    setError(undefined);
    setStatus("");
    try {
      if (!isKnown && namespace !== "" && last !== "" && (await exists(namespace, last))) {
        setConflict({ ...(await readBase(id, undefined, never)), name: own });
        return { conflict: true };
      }
      const json = text.trimStart().startsWith("{");
      const tag = isKnown ? base.tag : undefined;
      const found = await apply({ text, json, draft, message, tag, once: once.current.key });
      const { version, revision, draft: isDraft } = found.applied;
      setBase({ text, json, tag: found.tag, version, revision, draft: isDraft });
      setKnown(own);
      setStatus(isDraft ? texts.savedDraft(version, revision) : texts.published(version));
      return { saved: { name: own, draft: isDraft } };
    } catch (problem) {
      if (problem instanceof Problem && problem.code === "revision_conflict") {
        try {
          setConflict({ ...(await readBase(id, undefined, never)), name: own });
          return { conflict: true };
        } catch {
          setError(problem); // it was deleted
        }
      } else {
        refuse(problem, text);
      }
      return { error: problem };
    } finally {
      setBusy(false);
    }
  };

  return {
    base,
    known,
    busy,
    status,
    error,
    conflict,
    send,
    tell: setStatus,
    /** What the server has refused in this text. */
    refused: (text: string): readonly Remark[] => (wrong?.text === text ? wrong.remarks : none),
    begin: (next: Base) => {
      setBase(next);
      setKnown(name);
    },
    /** The text now continues what another author has made. */
    resolve: () => {
      if (conflict) {
        const { name: own, ...theirs } = conflict;
        setBase(theirs);
        setKnown(own);
        setConflict(undefined);
      }
    },
  };
}
