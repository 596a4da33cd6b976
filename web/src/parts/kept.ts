import { useRouterState } from "@tanstack/react-router";
import { useCallback, useState } from "react";

/** Where something is kept for an entry of the history of this tab: going back and reloading bring it again. */
export function usePlace(name: string): string {
  // oxlint-disable-next-line no-underscore-dangle
  const key = useRouterState({ select: (state) => state.location.state.__TSR_key ?? "" });
  return `chargehand-${name}:${key}`;
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
