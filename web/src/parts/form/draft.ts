import type { Schemas } from "../../api/client.ts";
import type { FormField } from "../../api/workflows.ts";
import { toClock } from "../../messages/zone.ts";
import { read } from "./read.ts";
import { isObject, lastToken, same, type Value, type Values } from "./value.ts";

/** What a person has entered into a field, as it was entered. What kinds of fields do not use stays empty. */
export interface Draft {
  text: string;
  /** Numbers of the options that are chosen, or of the alternative. */
  chosen: number[];
  files: Schemas["FileReference"][];
  /** Of the fields inside, in their order. */
  inside: Draft[];
  entries: Entry[];
}

/** An entry of a list or of a map. Its key tells it apart while others come and go. */
export interface Entry {
  key: number;
  name: string;
  draft: Draft;
}

let keys = 0;

export function entry(draft: Draft, name = ""): Entry {
  keys++;
  return { key: keys, name, draft };
}

const empty: Draft = { text: "", chosen: [], files: [], inside: [], entries: [] };

/** What a field has when its form opens: its default, or nothing. */
export function startOf(field: FormField): Draft {
  if (field.default !== undefined) {
    return draftOf(field, field.default);
  }
  const inside = (field.fields ?? []).map(startOf);
  // A choice of one has nothing to choose.
  const only = field.kind === "choice" && field.required && field.options?.length === 1;
  return { ...empty, inside, chosen: only || field.kind === "oneof" ? [0] : [] };
}

/** What a field has when its form opens with a value: defaults where the value says nothing. */
export function startWith(field: FormField, value: Value): Draft {
  if (value === undefined) {
    return startOf(field);
  }
  const draft = draftOf(field, value);
  if (field.kind !== "object" || !isObject(value)) {
    return draft;
  }
  const inside = (field.fields ?? []).map((f) => startWith(f, value[lastToken(f.pointer)]));
  return { ...draft, inside };
}

/** What a person would have entered to get a value. What does not fit into the field is not in it. */
export function draftOf(field: FormField, value: Value): Draft {
  const inside = (field.fields ?? []).map(startOf);
  switch (field.kind) {
    case "choice":
      return { ...empty, chosen: indexes(field, [value]) };
    case "choices":
      return { ...empty, chosen: indexes(field, Array.isArray(value) ? value : []) };
    case "file":
      return { ...empty, files: isObject(value) ? [value as Schemas["FileReference"]] : [] };
    case "files":
      return { ...empty, files: Array.isArray(value) ? (value as Schemas["FileReference"][]) : [] };
    case "object": {
      const object = isObject(value) ? value : {};
      const names = (field.fields ?? []).map((f) => lastToken(f.pointer));
      return {
        ...empty,
        inside: (field.fields ?? []).map((f, i) =>
          Object.hasOwn(object, names[i] ?? "")
            ? draftOf(f, object[names[i] ?? ""])
            : startOf({ ...f, default: undefined }),
        ),
        entries: field.items ? named(field.items, object, names) : [],
      };
    }
    case "map":
      return { ...empty, entries: field.items && isObject(value) ? named(field.items, value, []) : [] };
    case "list":
      return { ...empty, entries: listed(field.items, value, 0) };
    case "tuple": {
      const list = Array.isArray(value) ? (value as Value[]) : [];
      return {
        ...empty,
        inside: (field.fields ?? []).map((f, i) => (i < list.length ? draftOf(f, list[i]) : startOf(f))),
        entries: listed(field.items, value, inside.length),
      };
    }
    case "oneof": {
      const found = (field.fields ?? []).findIndex((f) => same(read(f, draftOf(f, value)).value, value));
      const at = Math.max(found, 0);
      return {
        ...empty,
        chosen: [at],
        inside: inside.map((d, i) => (i === at ? draftOf(field.fields![i]!, value) : d)),
      };
    }
    default:
      return { ...empty, text: textOf(field, value), inside };
  }
}

const indexes = (field: FormField, values: Value[]) =>
  values.map((value) => (field.options ?? []).findIndex((option) => same(option.value, value))).filter((i) => i >= 0);

const named = (items: FormField, object: Values, but: string[]) =>
  Object.entries(object)
    .filter(([name]) => !but.includes(name))
    .map(([name, value]) => entry(draftOf(items, value), name));

const listed = (items: FormField | undefined, value: Value, from: number) =>
  items && Array.isArray(value) ? value.slice(from).map((each: Value) => entry(draftOf(items, each))) : [];

function textOf(field: FormField, value: Value): string {
  if (field.kind === "json") {
    return JSON.stringify(value, null, 2);
  }
  if (value === null || typeof value === "object") {
    return "";
  }
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (field.kind !== "datetime") {
    return text;
  }
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : toClock(at);
}
