import { useSyncExternalStore } from "react";

/** One clock for all that is shown in relation to now: it ticks each second while the page is seen. */
let now = new Date();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function tick(): void {
  if (document.visibilityState === "visible") {
    now = new Date();
    listeners.forEach((listener) => listener());
  }
}

export const useNow = (): Date =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      timer ??= setInterval(tick, 1000);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      };
    },
    () => now,
  );
