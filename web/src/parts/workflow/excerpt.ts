/**
 * The lines of a task in the text of a definition, from the one that names it to the last one that is deeper, without
 * what is left of it. Undefined if the definition is not written over lines.
 */
export function excerpt(text: string, line: number): string | undefined {
  const lines = text.split("\n");
  const first = lines[line - 1];
  if (first === undefined || lines.length < 3) {
    return undefined;
  }
  const left = depth(first);
  let end = line;
  while (end < lines.length && (lines[end]?.trim() === "" || depth(lines[end] ?? "") > left)) {
    end++;
  }
  const found = lines.slice(line - 1, end);
  return found
    .map((each) => each.slice(Math.min(left, depth(each))))
    .join("\n")
    .trimEnd();
}

const depth = (line: string): number => line.length - line.trimStart().length;

/** The value that a JSON pointer names in another one, if there is one. */
export const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce<unknown>(
      (at, key) =>
        typeof at === "object" && at !== null && Object.hasOwn(at, key)
          ? (at as Record<string, unknown>)[key]
          : undefined,
      value,
    );
