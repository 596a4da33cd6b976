import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { basics } from "./code.ts";

export interface Side {
  text: string;
  /** Its name for screen readers. */
  label: string;
}

export interface Compared {
  parent: HTMLElement;
  a: Side;
  b: Side;
  layout: "split" | "unified";
  phrases: Record<string, string>;
  /** The text of b can be changed, and parts of a put into it. */
  changed?: ((text: string) => void) | undefined;
}

/** How differences look. */
const theme = EditorView.theme({
  ".cm-deletedChunk, .cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--panel)" },
  "&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText": {
    background: "none",
    textDecoration: "line-through var(--error)",
  },
  "&.cm-merge-b .cm-changedText": { background: "none", textDecoration: "underline 2px var(--finished)" },
  "&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter": { background: "var(--error)" },
  "&.cm-merge-b .cm-changedLineGutter": { background: "var(--finished)" },
  ".cm-deletedChunk .cm-chunkButtons button": {
    minHeight: "24px",
    margin: "0 2px",
    color: "var(--ink)",
    backgroundColor: "var(--page)",
    border: "1px solid var(--control)",
  },
  ".cm-collapsedLines": { color: "var(--ink-2)", background: "var(--panel)" },
});

const collapseUnchanged = { margin: 3, minSize: 6 };

/** Shows how a text differs from another one, until the function that it returns is called. */
export function compare({ parent, a, b, layout, phrases, changed }: Compared): () => void {
  const shown = (side: Side): Extension => [
    basics(side.label, phrases),
    theme,
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({ "aria-readonly": "true" }),
  ];
  const written = (side: Side): Extension => [
    basics(side.label, phrases),
    theme,
    history(),
    keymap.of([...defaultKeymap, ...historyKeymap]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        changed?.(update.state.doc.toString());
      }
    }),
  ];
  const second = changed ? written(b) : shown(b);
  if (layout === "unified") {
    const merged = unifiedMergeView({
      original: a.text,
      mergeControls: changed !== undefined,
      collapseUnchanged,
      allowInlineDiffs: true,
    });
    const view = new EditorView({ parent, doc: b.text, extensions: [second, merged] });
    return () => view.destroy();
  }
  const view = new MergeView({
    parent,
    a: { doc: a.text, extensions: shown(a) },
    b: { doc: b.text, extensions: second },
    collapseUnchanged,
    ...(changed && { revertControls: "a-to-b" as const }),
  });
  return () => view.destroy();
}
