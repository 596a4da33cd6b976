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

export const keep = (place: string, value: unknown): void => sessionStorage.setItem(place, JSON.stringify(value));

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
