import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { StateEffect } from "@codemirror/state";
import { keymap, type EditorView } from "@codemirror/view";

/** Adds search to an editor, and opens its panel. */
export function openSearch(view: EditorView): void {
  view.dispatch({ effects: StateEffect.appendConfig.of([search({ top: true }), keymap.of(searchKeymap)]) });
  openSearchPanel(view);
}
