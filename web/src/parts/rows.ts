import { useEffect, useLayoutEffect, useState } from "react";
import { keysAreOn, typing } from "./keys.ts";

const links = () => [...document.querySelectorAll<HTMLElement>("[data-row]")];

/**
 * The current row of a list: the one that was opened or moved to last. It is kept with the address, so that it is the
 * same after going back and after loading the page again. `j` and `k` move, `r` asks again.
 */
export function useRows(refresh: () => void): { current: string | null; choose: (id: string) => void } {
  const place = `chargehand-row:${location.pathname}${location.search}`;
  const [current, setCurrent] = useState(() => sessionStorage.getItem(place));
  useLayoutEffect(() => {
    const kept = sessionStorage.getItem(place);
    if (kept !== null && document.activeElement === document.body) {
      links()
        .find((link) => link.dataset["row"] === kept)
        ?.focus({ preventScroll: true });
    }
  }, [place]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || !keysAreOn()) {
        return;
      }
      const step = { j: 1, k: -1 }[event.key];
      if (step !== undefined) {
        const all = links();
        const at = all.findIndex((link) => link === document.activeElement);
        all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))]?.focus();
      } else if (event.key === "r") {
        refresh();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [refresh]);
  return {
    current,
    choose(id) {
      sessionStorage.setItem(place, id);
      setCurrent(id);
    },
  };
}
