const stored = "chargehand-keys";

/** Whether single keys do something. Screen readers and speech input may need them for themselves. */
export const keysAreOn = (): boolean => localStorage.getItem(stored) !== "off";
export const switchKeys = (on: boolean): void => localStorage.setItem(stored, on ? "on" : "off");

/** A key belongs to the element that has the focus: it is a field, or a dialog is open. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target as Element | null;
  return Boolean(
    event.defaultPrevented || target?.closest("input, textarea, select, [contenteditable], [role=dialog], [role=menu]"),
  );
}
