import { useEffect, useEffectEvent, useRef, useState } from "react";
import { languageQuestion } from "../../api/definitions.ts";
import { queries } from "../../api/query.ts";
import { Code } from "../../editor/code.ts";
import type { Schema } from "../../editor/schema.ts";
import { definitionTexts } from "../../messages/definition.ts";

/** The text of a definition. */
export function CodeField({
  name,
  keys,
  first,
  ready,
  changed,
  moved,
  dropped,
}: {
  /** Of a text that is no definition: its name for screen readers. There is nothing to complete in it. */
  name?: string;
  /** What keys do in it, in a line. */
  keys?: string;
  first: string;
  /** The editor is there, or gone. */
  ready: (code: Code | null) => void;
  changed: (text: string) => void;
  moved: (pointer: string) => void;
  dropped: (file: File) => void;
}) {
  const texts = definitionTexts().editor;
  const parent = useRef<HTMLDivElement>(null);
  const [leaves, setLeaves] = useState(false);
  const make = useEffectEvent((element: HTMLElement) => {
    return new Code({
      parent: element,
      text: first,
      label: name ?? texts.label,
      phrases: texts.phrases,
      complete:
        name === undefined &&
        (async (context) => {
          const [language, { completeFrom }] = await Promise.all([
            queries.ensureQueryData(languageQuestion()).catch(() => undefined),
            import("../../editor/complete.ts"),
          ]);
          return language === undefined ? null : completeFrom(language as Schema, texts.variables)(context);
        }),
      describe: async (view, at) =>
        name !== undefined ? null : (await import("../../editor/hover.ts")).describe(texts, view, at),
      changed,
      moved,
      leaving: setLeaves,
      dropped,
    });
  });
  useEffect(() => {
    if (!parent.current) {
      return undefined;
    }
    const made = make(parent.current);
    ready(made);
    return () => {
      made.close();
      ready(null);
    };
  }, [ready]);
  return (
    <>
      <div className="code" ref={parent} />
      <p className="meta" role="status">
        {leaves ? texts.leaves : (keys ?? texts.keys)}
      </p>
    </>
  );
}
