import { useSyncExternalStore } from "react";

let ended = false;
const listeners = new Set<() => void>();

function tell(next: boolean): void {
  if (ended !== next) {
    ended = next;
    listeners.forEach((listener) => listener());
  }
}

/** The server does not take the session any more. The page stays, with what was typed. */
export const sessionEnded = (): void => tell(true);
export const sessionBegan = (): void => tell(false);

export const useSessionEnded = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => ended,
  );

/** The address of the page to sign in at, which leads back to the page that is shown. */
export function signInAddress(): string {
  return `/sign-in?return=${encodeURIComponent(location.pathname + location.search)}`;
}
