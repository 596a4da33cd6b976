import { useMemo, useRef, useState } from "react";

/** As many tasks are answered together at most. */
export const mostSelected = 1000;

/** The tasks of the list that a person has selected to answer them together, in lists of one filter. */
export function useSelection(order: readonly string[], filter: string) {
  const [selected, setSelected] = useState<{ filter: string; ids: readonly string[] }>({ filter, ids: [] });
  const last = useRef<string>(undefined);
  // What has left the list, answered one by one for example, is selected no more.
  const ids = useMemo(() => {
    const there = new Set(order);
    return selected.filter === filter ? selected.ids.filter((id) => there.has(id)) : [];
  }, [order, filter, selected]);
  const toggle = (id: string, range: boolean) => {
    const [from, to] = [order.indexOf(last.current ?? id), order.indexOf(id)];
    const next = new Set(ids);
    if (range && from >= 0) {
      order.slice(Math.min(from, to), Math.max(from, to) + 1).forEach((one) => next.add(one));
    } else if (!next.delete(id)) {
      next.add(id);
    }
    last.current = id;
    setSelected({ filter, ids: [...next].slice(0, mostSelected) });
  };
  return { ids, toggle, clear: () => setSelected({ filter, ids: [] }) };
}
