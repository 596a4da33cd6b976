import type { Base } from "../../api/definitions.ts";
import { environment } from "../../api/environment.ts";

/** A text that a person has not saved yet, and what they began with. */
export interface Kept {
  text: string;
  base: Base;
  at: string;
}

/** Where the text of a person is kept in this browser. A new workflow has no name yet. */
export const placeOf = (person: string, name: string | undefined) =>
  `chargehand-definition:${person}:${environment()}:${name ?? ""}`;

export function readKept(place: string): Kept | undefined {
  try {
    const found = localStorage.getItem(place);
    return found === null ? undefined : (JSON.parse(found) as Kept);
  } catch {
    return undefined; // the browser keeps nothing, or something else has written there
  }
}

/** Keeps a text until it is saved: whether the browser has room for it. */
export function keep(place: string, kept: Kept | undefined): boolean {
  try {
    if (kept) {
      localStorage.setItem(place, JSON.stringify(kept));
    } else {
      localStorage.removeItem(place);
    }
    return true;
  } catch {
    return false;
  }
}
