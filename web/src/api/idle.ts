/** A page without a key or pointer for so long is idle. */
const idleAfter = 5 * 60_000;

const signs = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart", "focus"] as const;

let used = Date.now();
const listeners = new Set<() => void>();

function use(): void {
  const woken = isIdle();
  used = Date.now();
  if (woken) {
    listeners.forEach((listener) => listener());
  }
}

/** Whether the page is idle: what it asks for again and again, it asks for seldom then. */
export const isIdle = (): boolean => Date.now() - used >= idleAfter;

/** Calls back whenever an idle page is used again. */
export function onWaking(listener: () => void): void {
  listeners.add(listener);
}

if (typeof document === "object") {
  const options = { capture: true, passive: true };
  signs.forEach((type) => addEventListener(type, use, options));
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && use());
}
