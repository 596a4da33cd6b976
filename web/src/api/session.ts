import { useSyncExternalStore } from "react";

let ended = false;
let leaving = false;
const listeners = new Set<() => void>();
const beginnings = new Set<() => void>();

function tell(next: boolean): void {
  if (ended !== next) {
    ended = next;
    listeners.forEach((listener) => listener());
  }
}

/** The server does not take the session any more. The page stays, with what was typed. */
export const sessionEnded = (): void => tell(true);

/** There is a session, which may be another one than before. */
export function sessionBegan(): void {
  tell(false);
  beginnings.forEach((listener) => listener());
}

/** The person signs out: the browser is on its way to another page. */
export function sessionLeft(): void {
  leaving = true;
}

export const isLeaving = (): boolean => leaving;

/** Whether the person has to sign in again. */
export const sessionHasEnded = (): boolean => ended;

/** Calls back whenever there may be another session, until the function that it returns is called. */
export function onSession(listener: () => void): () => void {
  beginnings.add(listener);
  return () => {
    beginnings.delete(listener);
  };
}

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
