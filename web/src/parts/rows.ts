import { useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react";
import { put } from "./kept.ts";
import { keysAreOn, typing } from "./keys.ts";

/** What all rows of lists have. */
export interface ListRow {
  id: string;
  created_at: string;
}

/** How many of the newest rows a list does not have. */
export function countNew(known: readonly ListRow[], newest: readonly ListRow[]): number {
  const ids = new Set(known.map((row) => row.id));
  const first = known[0]?.created_at ?? "";
  return newest.filter((row) => !ids.has(row.id) && row.created_at >= first).length;
}

const links = () => [...document.querySelectorAll<HTMLElement>("[data-row]")];
const find = (id: string | null) => links().find((link) => link.dataset["row"] === id);
/** Gives a row the focus, if it is in the page. */
export const focusRow = (id: string | null): void => find(id)?.focus();
/** Where the rows begin that are not behind the bar at the top. */
const underTheBar = 56;

const placeOfRow = () => `chargehand-row:${location.pathname}${location.search}`;
/** The same of the entry of the history: a person who comes back to it continues there. */
const placeOfFocus = () =>
  `chargehand-focus:${String((history.state as Record<string, unknown> | null)?.["__TSR_key"])}`;

/**
 * Gives the row of before the focus again as soon as it is in the page, unless the person has begun something else. What
 * draws the rows uses it.
 */
export function useFocusAgain(): void {
  const begun = useRef(false);
  useLayoutEffect(() => {
    const free = document.activeElement === document.body || document.activeElement?.matches("h1") === true;
    const row = begun.current || !free ? undefined : find(sessionStorage.getItem(placeOfFocus()));
    row?.focus({ preventScroll: true });
  });
  useEffect(() => {
    const begin = () => {
      begun.current = true;
    };
    const events = ["keydown", "pointerdown", "wheel"] as const;
    events.forEach((event) => addEventListener(event, begin, { passive: true }));
    return () => events.forEach((event) => removeEventListener(event, begin));
  }, []);
}

/**
 * The current row of a list: the one that was opened or moved to last. It is kept with the address, so that it is the
 * same after going back and after loading the page again. `j` and `k` move, `r` asks again.
 */
export function useRows(refresh: () => void): { current: string | null; choose: (id: string) => void } {
  const place = placeOfRow();
  const [current, setCurrent] = useState(() => sessionStorage.getItem(place));
  useFocusAgain();
  const again = useEffectEvent(refresh);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || !keysAreOn()) {
        return;
      }
      const step = { j: 1, k: -1 }[event.key];
      if (step !== undefined) {
        const all = links();
        const at = all.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
        const inSight = all.find((link) => link.getBoundingClientRect().top >= underTheBar);
        (at < 0 ? inSight : all[Math.min(all.length - 1, Math.max(0, at + step))])?.focus();
      } else if (event.key === "r") {
        again();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
  return {
    current,
    choose(id) {
      put(place, id);
      put(placeOfFocus(), id);
      setCurrent(id);
    },
  };
}
