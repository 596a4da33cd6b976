// The parts of a task that was written whole: its author goes from one to the next by Tab, and writes each anew.
import { pickedCompletion, type Completion } from "@codemirror/autocomplete";
import { Prec, StateEffect, StateField, type Range } from "@codemirror/state";
import { Decoration, EditorView, keymap, type Command } from "@codemirror/view";
import type { Part } from "./snippets.ts";

const setParts = StateEffect.define<readonly Part[]>();

const mark = Decoration.mark({ class: "cm-part" });

/** The parts as they are now. There are none any more once the author writes elsewhere. */
const field = StateField.define<readonly Part[]>({
  create: () => [],
  update(parts, { changes, docChanged, effects, newSelection }) {
    for (const effect of effects) {
      if (effect.is(setParts)) {
        return effect.value;
      }
    }
    if (parts.length === 0) {
      return parts;
    }
    const moved = docChanged
      ? parts.map(({ from, to }) => ({ from: changes.mapPos(from, -1), to: changes.mapPos(to, 1) }))
      : parts;
    return moved.some((part) => isIn(part, newSelection.main.head)) ? moved : [];
  },
  provide: (own) =>
    EditorView.decorations.from(own, (parts) =>
      Decoration.set(
        parts.flatMap(({ from, to }): Range<Decoration>[] => (from === to ? [] : [mark.range(from, to)])),
        true,
      ),
    ),
});

const isIn = ({ from, to }: Part, position: number) => from <= position && position <= to;

/** Goes to the next part, or to the one before. After the last one, Tab indents again. */
const go =
  (step: 1 | -1): Command =>
  (view) => {
    const parts = view.state.field(field);
    const next = parts[parts.findIndex((part) => isIn(part, view.state.selection.main.head)) + step];
    if (next === undefined) {
      return false;
    }
    const last = next === parts.at(-1);
    view.dispatch({
      selection: { anchor: next.from, head: next.to },
      ...(last && { effects: setParts.of([]) }),
      scrollIntoView: true,
    });
    return true;
  };

/** Escape leaves the parts, and does what it always does. */
const leave: Command = (view) => {
  if (view.state.field(field).length > 0) {
    view.dispatch({ effects: setParts.of([]) });
  }
  return false;
};

const keys = keymap.of([
  { key: "Tab", run: go(1), shift: go(-1) },
  { key: "Escape", run: leave },
]);

/** Writes a text in the place of another one, and selects the first of its parts. */
export function writeParts(text: string, parts: readonly Part[]) {
  return (view: EditorView, completion: Completion, from: number, to: number): void => {
    if (view.state.field(field, false) === undefined) {
      view.dispatch({ effects: StateEffect.appendConfig.of([field, Prec.highest(keys)]) });
    }
    const placed = parts.map((part) => ({ from: from + part.from, to: from + part.to }));
    const [first] = placed;
    view.dispatch({
      changes: { from, to, insert: text },
      ...(first && { selection: { anchor: first.from, head: first.to } }),
      effects: setParts.of(placed),
      annotations: pickedCompletion.of(completion),
      userEvent: "input.complete",
      scrollIntoView: true,
    });
  };
}
