import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** How the editor looks, in light and dark: the tokens of the pages. */
export const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--page)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "18px" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-content:focus-visible": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-gutters": { color: "var(--ink-2)", backgroundColor: "var(--panel)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "& .cm-line ::selection, & .cm-line::selection": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
  ".cm-tooltip": { color: "var(--ink)", backgroundColor: "var(--page)", border: "1px solid var(--control)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--on-accent)",
    backgroundColor: "var(--accent)",
  },
  ".cm-completionInfo": { maxWidth: "320px", padding: "8px" },
  ".cm-completionIcon": { display: "none" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--error)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--person)" },
  ".cm-lint-marker": { content: "normal", width: "8px", height: "8px", margin: "5px 2px", borderRadius: "4px" },
  ".cm-lint-marker-error": { backgroundColor: "var(--error)" },
  ".cm-lint-marker-warning": { backgroundColor: "var(--person)" },
  ".cm-lintRange-error, .cm-lintRange-warning": { backgroundImage: "none" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--error)", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy var(--person)", textUnderlineOffset: "3px" },
});

/** Colour is left to states: keys are strong, comments are dim. */
export const highlight = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), fontWeight: "600" },
  { tag: tags.propertyName, fontWeight: "600" },
  { tag: tags.comment, color: "var(--ink-2)", fontStyle: "italic" },
]);
