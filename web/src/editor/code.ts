import { autocompletion, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  codeFolding,
  ensureSyntaxTree,
  foldKeymap,
  indentUnit,
  syntaxHighlighting,
  syntaxTree,
} from "@codemirror/language";
import { lintGutter, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import {
  EditorView,
  highlightActiveLine,
  hoverTooltip,
  keymap,
  lineNumbers,
  type HoverTooltipSource,
} from "@codemirror/view";
import type { SyntaxNode, Tree } from "@lezer/common";
import { getNonce } from "get-nonce";
import { find, namedIn, pathAt, pathOf, pointerOf, positionOf, type Named } from "./path.ts";
import { highlight, theme } from "./theme.ts";

/** Something that the server says about a definition. */
export interface Remark {
  severity: "error" | "warning";
  line: number;
  column: number;
  pointer: string;
  detail: string;
}

export interface Options {
  parent: HTMLElement;
  text: string;
  /** Its name for screen readers. */
  label: string;
  /** Texts of the parts that CodeMirror makes, by their English ones. */
  phrases: Record<string, string>;
  /** False: nothing is offered while one types. */
  complete: CompletionSource | false;
  /** What the word under the pointer stands for. */
  describe: HoverTooltipSource;
  changed: (text: string) => void;
  /** The cursor is in another place of the definition. */
  moved: (pointer: string) => void;
  /** Tab leaves the editor now, or indents again. */
  leaving: (leaves: boolean) => void;
  /** Files were dropped on it. */
  dropped: (file: File) => void;
}

/** What every editor of texts has, also one that only shows them. */
export function basics(label: string, phrases: Record<string, string>): Extension[] {
  return [
    EditorView.cspNonce.of(getNonce() ?? ""),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
    EditorState.phrases.of(phrases),
    EditorState.tabSize.of(2),
    EditorView.lineWrapping,
    lineNumbers(),
    yaml(), // which JSON is a part of
    syntaxHighlighting(highlight),
    theme,
  ];
}

/** Opens the panel for searching, which has keys of its own from then on. */
function search(view: EditorView): boolean {
  void import("./search.ts").then(({ openSearch }) => openSearch(view));
  return true;
}

/** Where that ends which is wrong: a key with its value, if they are in one line, else a word. */
function endOf(tree: Tree, text: string, from: number): number {
  let end = from + (/^\S+/.exec(text.slice(from, from + 200))?.[0].length ?? 0);
  for (let node: SyntaxNode | null = tree.resolveInner(from, 1); node?.from === from; node = node.parent) {
    if (!text.slice(node.from, node.to).includes("\n")) {
      end = node.to;
    }
  }
  return end;
}

/** The editor of a definition. */
export class Code {
  readonly #view: EditorView;

  constructor({ parent, text, label, phrases, complete, describe, changed, moved, leaving, dropped }: Options) {
    let place = "";
    const leave = (view: EditorView) => {
      // Until another key is pressed; a slow hand has all the time it needs.
      view.setTabFocusMode(24 * 60 * 60_000);
      leaving(true);
      return true;
    };
    const watch = EditorView.updateListener.of((update) => {
      if (update.docChanged) {
        changed(update.state.doc.toString());
      }
      if (update.docChanged || update.selectionSet) {
        const next = this.#place();
        if (next !== place) {
          place = next;
          moved(place);
        }
      }
    });
    this.#view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          basics(label, phrases),
          // It can have the focus without one, which axe does not know.
          EditorView.contentAttributes.of({ tabindex: "0" }),
          indentUnit.of("  "),
          history(),
          codeFolding(),
          highlightActiveLine(),
          lintGutter(),
          autocompletion({ override: complete ? [complete] : [] }),
          hoverTooltip(describe),
          keymap.of([
            ...completionKeymap,
            ...historyKeymap,
            ...foldKeymap,
            // Few search in a text of a screen or two: its code comes with the first search.
            { key: "Mod-f", run: search },
            { key: "F8", run: nextDiagnostic },
            ...defaultKeymap.filter((binding) => binding.key !== "Mod-Enter"), // which runs the workflow
            indentWithTab,
            { key: "Escape", run: leave },
          ]),
          EditorView.domEventHandlers({
            keydown: (event) => {
              if (!["Escape", "Tab", "Shift"].includes(event.key)) {
                leaving(false);
              }
              return false;
            },
            beforeinput: (event, view) => {
              // Left alone, Chromium writes the style of what was selected into the page, which its policy forbids.
              const over = event.inputType === "insertText" && !view.composing && !view.state.selection.main.empty;
              if (over && event.data !== null) {
                event.preventDefault();
                const typed = view.state.replaceSelection(event.data);
                view.dispatch(typed, { userEvent: "input.type", scrollIntoView: true });
              }
              return over;
            },
            blur: () => {
              leaving(false);
              return false;
            },
            drop: (event) => {
              const file = event.dataTransfer?.files[0];
              if (file) {
                event.preventDefault();
                dropped(file);
              }
              return file !== undefined;
            },
          }),
          watch,
        ],
      }),
    });
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  #tree() {
    const { state } = this.#view;
    return ensureSyntaxTree(state, state.doc.length, 200) ?? syntaxTree(state);
  }

  #place(): string {
    return pointerOf(pathAt(this.#tree(), this.text, this.#view.state.selection.main.head));
  }

  /** What the text says of namespace, name and version. */
  get named(): Named {
    return namedIn(this.#tree(), this.text);
  }

  /** Puts another text in its place, which can be undone. */
  replace(text: string): void {
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
  }

  /** Marks what is wrong, where it is. */
  mark(remarks: readonly Remark[]): void {
    const text = this.text;
    const tree = this.#tree();
    const marks = remarks.map(({ severity, line, column, detail }) => {
      const from = positionOf(text, line, column);
      return { from, to: endOf(tree, text, from), severity, message: detail };
    });
    this.#view.dispatch(setDiagnostics(this.#view.state, marks));
  }

  /** Puts the cursor at a line and column, and the focus on the editor. */
  goTo(line: number, column: number): void {
    this.#select(positionOf(this.text, line, column));
  }

  /** Puts the cursor at what a pointer names. */
  goToPointer(pointer: string): void {
    const found = find(this.#tree(), this.text, pathOf(pointer));
    if (found?.key) {
      this.#select(found.key.from);
    }
  }

  /** What is written, and where the cursor is in it. */
  get written(): { tree: Tree; text: string; cursor: number } {
    return { tree: this.#tree(), text: this.text, cursor: this.#view.state.selection.main.head };
  }

  /** Changes some places at once, which can be undone at once. */
  change(changes: readonly { from: number; to: number; insert: string }[]): void {
    this.#view.dispatch({ changes });
  }

  #select(position: number): void {
    this.#view.dispatch({
      selection: { anchor: position },
      effects: EditorView.scrollIntoView(position, { y: "center" }),
    });
    this.#view.focus();
  }

  focus(): void {
    this.#view.focus();
  }

  close(): void {
    this.#view.destroy();
  }
}
