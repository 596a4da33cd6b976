import { useMatch, useRouterState } from "@tanstack/react-router";
import { useCallback, useState } from "react";

/**
 * Where something is kept for an entry of the history of this tab: going back and reloading bring it again. A page that
 * is left is still there while the next one loads: then it is where it was, not at the entry of the next one.
 */
export function usePlace(name: string): string {
  const own = useMatch({ strict: false, shouldThrow: false, select: (match) => match.pathname });
  const key = useRouterState({
    select: ({ location }) =>
      own === undefined || location.pathname === own
        ? // oxlint-disable-next-line no-underscore-dangle
          (location.state.__TSR_key ?? "")
        : undefined,
  });
  const [last, setLast] = useState(key ?? "");
  if (key !== undefined && key !== last) {
    setLast(key);
  }
  return `chargehand-${name}:${key ?? last}`;
}

export function readKept(place: string): unknown {
  const text = sessionStorage.getItem(place);
  return text === null ? undefined : JSON.parse(text);
}

/** What may be forgotten when the browser has no more room: where persons were in lists that they have left. */
const small = /^chargehand-(list|height-[^:]*|selection|row|focus):/;

/**
 * Keeps a text in this tab, and says whether there was room for it. Without room an older one is forgotten too, because
 * it is not true any more. It never throws: the page continues without it.
 */
export function put(place: string, text: string): boolean {
  const set = () => {
    try {
      sessionStorage.setItem(place, text);
      return true;
    } catch {
      return false;
    }
  };
  if (set()) {
    return true;
  }
  Object.keys(sessionStorage)
    .filter((other) => small.test(other))
    .forEach((other) => sessionStorage.removeItem(other));
  sessionStorage.removeItem(place);
  return set();
}

export const keep = (place: string, value: unknown): boolean => put(place, JSON.stringify(value));

/** A state that is kept for the entry of the history. */
export function useKept<T>(name: string, initial: T): [T, (next: T) => void] {
  const place = usePlace(name);
  const [state, setState] = useState(() => ({ place, value: (readKept(place) as T | undefined) ?? initial }));
  const value = state.place === place ? state.value : ((readKept(place) as T | undefined) ?? initial);
  const set = useCallback(
    (next: T) => {
      keep(place, next);
      setState({ place, value: next });
    },
    [place],
  );
  return [value, set];
}
