import { useMediaQuery } from "@mantine/hooks";
import { useEffect, useEffectEvent, useRef } from "react";
import { compare, type Side } from "../../editor/diff.ts";
import { definitionTexts } from "../../messages/definition.ts";

/** How two texts differ. Where there is little room, one below the other. */
export default function Diff({
  a,
  b,
  layout,
  changed,
}: {
  a: Side;
  b: Side;
  layout: "split" | "unified";
  /** The second text can be changed. */
  changed?: (text: string) => void;
}) {
  const parent = useRef<HTMLDivElement>(null);
  const narrow = useMediaQuery("(max-width: 700px)", undefined, { getInitialValueInEffect: false });
  const shown = narrow ? "unified" : layout;
  const editable = changed !== undefined;
  // What is typed into the second text is not a new one, and stays when the layout changes.
  const typed = useRef(b.text);
  const change = useEffectEvent((text: string) => {
    typed.current = text;
    changed?.(text);
  });
  const second = editable ? undefined : b.text;
  useEffect(() => {
    if (!parent.current) {
      return undefined;
    }
    return compare({
      parent: parent.current,
      a: { text: a.text, label: a.label },
      b: { text: second ?? typed.current, label: b.label },
      layout: shown,
      phrases: definitionTexts().editor.phrases,
      changed: editable ? change : undefined,
    });
  }, [a.text, a.label, second, b.label, shown, editable]);
  return (
    <>
      {shown === "split" && (
        <div className="diff-names" aria-hidden>
          <strong>{a.label}</strong>
          <strong>{b.label}</strong>
        </div>
      )}
      <div className="code diff" ref={parent} />
    </>
  );
}
