/** A page that nobody has touched for so long is idle. */
const patience = 5 * 60_000;

const touches = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart", "focus"] as const;

let touched = Date.now();
const listeners = new Set<() => void>();

function touch(): void {
  const woken = isIdle();
  touched = Date.now();
  if (woken) {
    listeners.forEach((listener) => listener());
  }
}

/** Whether the page is idle: what it asks for again and again, it asks for seldom then. */
export const isIdle = (): boolean => Date.now() - touched >= patience;

/** Calls back whenever somebody touches an idle page. */
export function onWaking(listener: () => void): void {
  listeners.add(listener);
}

if (typeof document === "object") {
  const options = { capture: true, passive: true };
  touches.forEach((type) => addEventListener(type, touch, options));
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && touch());
}
