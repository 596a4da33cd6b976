import { useEffect, useEffectEvent, useRef } from "react";
import { keysAreOn, typing } from "../keys.ts";
import { useKept } from "../kept.ts";

/** The executions that a person has selected in a list: some by name, or all that match the filter. */
export interface Selection {
  ids: readonly string[];
  all: boolean;
}

const nothing: Selection = { ids: [], all: false };
/** The server takes as many by name. */
export const mostSelected = 1000;

/**
 * The selection is kept with the entry of the history. `x` selects the row that has the focus, `X` all from the row that
 * was selected last to it, Escape none.
 */
export function useSelection(order: readonly string[], enabled: boolean) {
  const [selection, setSelection] = useKept("selection", nothing);
  const last = useRef<string>(undefined);
  const toggle = (id: string, range: boolean) => {
    const [from, to] = [order.indexOf(last.current ?? id), order.indexOf(id)];
    // Of all that match, those in the list stay without the one that is taken out.
    const old = new Set(selection.all ? order : selection.ids);
    if (range && from >= 0) {
      order.slice(Math.min(from, to), Math.max(from, to) + 1).forEach((one) => old.add(one));
    } else if (!old.delete(id)) {
      old.add(id);
    }
    last.current = id;
    setSelection({ ids: [...old].slice(0, mostSelected), all: false });
  };
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (!enabled || event.ctrlKey || event.metaKey || event.altKey || typing(event) || !keysAreOn()) {
      return;
    }
    const link = document.activeElement?.closest("tr")?.querySelector<HTMLElement>("[data-row]");
    const id = link?.dataset["row"];
    if ((event.key === "x" || event.key === "X") && id !== undefined) {
      toggle(id, event.shiftKey);
    } else if (event.key === "Escape" && (selection.all || selection.ids.length > 0)) {
      setSelection(nothing);
    }
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => press(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return {
    selection,
    has: (id: string) => selection.all || selection.ids.includes(id),
    toggle,
    selectAll: () => setSelection({ ids: [], all: true }),
    clear: () => setSelection(nothing),
  };
}
