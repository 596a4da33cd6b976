import type { Item } from "../../api/batches.ts";

/** The grid has room for so many fields of inputs. */
export const mostFields = 6;
/** Of those that the items have, so many are offered. */
const mostOffered = 50;

/** Names of fields as a text of an address, and back. */
export const writeFields = (names: readonly string[]): string =>
  names.map((name) => name.replaceAll(/[%,]/gu, encodeURIComponent)).join(",");

export function readFields(text: string): string[] {
  const names = text.split(",").map((part) => part.replaceAll(/%25|%2C/giu, decodeURIComponent));
  return [...new Set(names)].filter((name) => name !== "").slice(0, mostFields);
}

/** The fields that can be shown: those that are, and those of the inputs of some items. */
export function offeredFields(shown: readonly string[], items: readonly (Item | undefined)[]): string[] {
  const names = new Set(shown);
  for (const item of items) {
    for (const name of Object.keys(item?.inputs ?? {})) {
      if (names.size < mostOffered) {
        names.add(name);
      }
    }
  }
  return [...names].filter((name) => name !== "").toSorted((a, b) => a.localeCompare(b));
}
