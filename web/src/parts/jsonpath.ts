/** The way to a part of a value: keys of objects and indexes of lists, from the outside. */
export type Path = readonly (string | number)[];

const plain = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The path as an expression of jq. */
export function jqOf(path: Path): string {
  const steps = path.map((key) =>
    typeof key === "number" ? `[${key}]` : plain.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
  );
  const text = steps.join("");
  return text.startsWith(".") ? text : `.${text}`;
}

/** The path as a JSON Pointer (RFC 6901). The whole value is the empty text. */
export const pointerOf = (path: Path): string =>
  path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

/** Keys and values of a list or an object. */
export const fieldsOf = (value: object): [string | number, unknown][] =>
  Array.isArray(value) ? value.map((item, index) => [index, item]) : Object.entries(value);

/** How a value is written that has no fields. */
export const textOf = (value: unknown): string => JSON.stringify(value) ?? "";

/** Whether a text is in another one, in large or small letters. */
export const has = (text: string, wanted: string): boolean => text.toLowerCase().includes(wanted.toLowerCase());

/**
 * The paths whose last key, or whose value without fields, has a text in it, in the order in which they are shown; so many
 * at most.
 */
export function find(value: unknown, wanted: string, most: number): Path[] {
  const found: Path[] = [];
  // A stack of its own: how deep a value is must not matter.
  const open: { value: unknown; path: Path }[] = [{ value, path: [] }];
  for (let at = open.pop(); at && found.length < most; at = open.pop()) {
    const key = at.path.at(-1);
    const leaf = typeof at.value !== "object" || at.value === null;
    if ((typeof key === "string" && has(key, wanted)) || (leaf && has(textOf(at.value), wanted))) {
      found.push(at.path);
    }
    if (typeof at.value === "object" && at.value !== null) {
      for (const [name, field] of fieldsOf(at.value).toReversed()) {
        open.push({ value: field, path: [...at.path, name] });
      }
    }
  }
  return found;
}
