/** A value of JSON; undefined: there is none. */
export type Value = unknown;
export type Values = Record<string, Value>;

export const isObject = (value: Value): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The name of the property, or the place of the entry, that a pointer ends with. */
export function lastToken(pointer: string): string {
  const token = pointer.slice(pointer.lastIndexOf("/") + 1);
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

export const escapeToken = (token: string): string => token.replaceAll("~", "~0").replaceAll("/", "~1");

/** Whether two values are the same, whatever the order of their properties. */
export const same = (one: Value, other: Value): boolean => canonical(one) === canonical(other);

function canonical(value: Value): string {
  return JSON.stringify(value, (_, inner: Value) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

/** Whether a number, as it is written, is a whole one that JavaScript would round. */
export const isLong = (text: string): boolean => /^[+-]?\d+$/.test(text) && !Number.isSafeInteger(Number(text));

/** Whether a text of JSON has such a number. */
export const hasLong = (text: string): boolean =>
  (text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, '""').match(/-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi) ?? []).some(isLong);
