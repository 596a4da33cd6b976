import { useSyncExternalStore } from "react";

/** The server is asked whether it answers: soon, because it may have been away for a moment, and then now and then. */
const soon = 1000;
const every = 3000;

let since: Date | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
const returns = new Set<() => void>();

function tell(next: Date | undefined): void {
  since = next;
  listeners.forEach((listener) => listener());
}

/** A request has got no answer: the server is asked until it answers. */
export function lost(): void {
  if (since === undefined) {
    tell(new Date());
    timer = setTimeout(look, soon);
  }
}

/** An answer has come. */
export function found(): void {
  if (since !== undefined) {
    clearTimeout(timer);
    tell(undefined);
    returns.forEach((listener) => listener());
  }
}

async function answers(): Promise<boolean> {
  try {
    return (await fetch("/healthz", { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

async function look(): Promise<void> {
  if (await answers()) {
    found();
  } else {
    timer = setTimeout(look, every);
  }
}

/** Whether the server answers now. */
export async function reachable(): Promise<boolean> {
  const answered = await answers();
  (answered ? found : lost)();
  return answered;
}

/** Calls back whenever the server has come back, until the function that it returns is called. */
export function onReturn(listener: () => void): () => void {
  returns.add(listener);
  return () => {
    returns.delete(listener);
  };
}

/** Of what says on every page that the server cannot be reached. What cannot be used because of it refers to it. */
export const lostId = "lost";

/** Whether the server cannot be reached now: a key that would send something does nothing. */
export const isLost = (): boolean => since !== undefined;

/** Since when the server cannot be reached; undefined: it can. */
export const useLostSince = (): Date | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => since,
  );
