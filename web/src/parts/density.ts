const stored = "chargehand-rows";

export type Density = "dense" | "comfortable";

/** How high the rows of lists are. */
export const density = (): Density => (localStorage.getItem(stored) === "comfortable" ? "comfortable" : "dense");

/** Pixels of a row, for lists that draw only those in view. The style sheets have them as --row. */
export const rowHeight = (): number => (density() === "comfortable" ? 40 : 32);

export function setDensity(next: Density): void {
  if (next === "comfortable") {
    localStorage.setItem(stored, next);
    document.documentElement.dataset["rows"] = next;
  } else {
    localStorage.removeItem(stored);
    delete document.documentElement.dataset["rows"];
  }
}
