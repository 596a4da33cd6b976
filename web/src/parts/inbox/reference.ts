import { type Shown } from "../../api/tasks.ts";

const address = /^(?:https?:\/\/[^/?#]+(?:\/[^?#]*)?)?\/api\/v1\/files\/[0-9a-f-]{36}$/i;

const textOr = (value: unknown, other: string): string => (typeof value === "string" && value !== "" ? value : other);

/**
 * A file of a task as it is shown; undefined: the value refers to none. Values come from the data of the workflow, so
 * nothing in them can be relied on: what has another type than in references of the server is left out.
 */
export function shownFile(value: unknown): Shown | undefined {
  const { uri, name, mediaType, size } = (value ?? {}) as Record<string, unknown>;
  if (typeof uri !== "string" || !address.test(uri) || !URL.canParse(uri, "http://localhost")) {
    return undefined;
  }
  return {
    uri,
    name: textOr(name, uri.slice(uri.lastIndexOf("/") + 1)),
    mediaType: textOr(mediaType, "application/octet-stream"),
    size: typeof size === "number" && size >= 0 ? size : 0,
  };
}
