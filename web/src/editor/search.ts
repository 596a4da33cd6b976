import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { StateEffect } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";

/** How the panel and what was found look. */
const theme = EditorView.theme({
  ".cm-selectionMatch, .cm-searchMatch": { backgroundColor: "transparent", outline: "1px solid var(--control)" },
  ".cm-searchMatch-selected": { outline: "2px solid var(--accent)" },
  ".cm-panels": { color: "var(--ink)", backgroundColor: "var(--panel)", borderColor: "var(--line)" },
  ".cm-panel input, .cm-panel button": {
    color: "var(--ink)",
    background: "var(--page)",
    border: "1px solid var(--control)",
    borderRadius: "4px",
    minHeight: "24px",
  },
});

/** Adds search to an editor, and opens its panel. */
export function openSearch(view: EditorView): void {
  view.dispatch({ effects: StateEffect.appendConfig.of([search({ top: true }), keymap.of(searchKeymap), theme]) });
  openSearchPanel(view);
}
