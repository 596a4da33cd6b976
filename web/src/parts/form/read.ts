import type { FormField } from "../../api/workflows.ts";
import { currentLanguage } from "../../messages/index.ts";
import { fromClock, offsetAt } from "../../messages/zone.ts";
import { startOf, type Draft } from "./draft.ts";
import { escapeToken, hasLong, isLong, lastToken, same, type Value, type Values } from "./value.ts";

/** What is wrong with what was entered, before the server is asked. */
export interface Wrong {
  pointer: string;
  what: "missing" | "number" | "thousands" | "integer" | "long" | "json" | "name";
}

/** What was entered, as a value. undefined: nothing was. */
export interface Read {
  value: Value;
  wrong: Wrong[];
}

/** The value of a field. At is the pointer to the whole or to the entry that pointers in the field begin at. */
export function read(field: FormField, draft: Draft, at = ""): Read {
  const wrong: Wrong[] = [];
  const value = valueOf(field, draft, at, wrong);
  return { value, wrong };
}

function valueOf(field: FormField, draft: Draft, at: string, wrong: Wrong[]): Value {
  const pointer = at + field.pointer;
  switch (field.kind) {
    case "integer":
    case "number":
      return numberOf(field, draft.text, pointer, wrong);
    case "boolean":
      return draft.text === "" ? (field.required ? false : undefined) : draft.text === "true";
    case "json":
      return jsonOf(draft.text, pointer, wrong);
    case "datetime": {
      const day = fromClock(draft.text);
      return draft.text === "" || Number.isNaN(day.getTime()) ? undefined : day.toISOString();
    }
    case "time":
      return timeOf(draft.text);
    case "choice":
      return draft.chosen[0] === undefined ? undefined : field.options?.[draft.chosen[0]]?.value;
    case "choices":
      return draft.chosen.length === 0 && !field.required
        ? undefined
        : draft.chosen.toSorted((a, b) => a - b).map((i) => field.options?.[i]?.value);
    case "file":
      return draft.files[0];
    case "files":
      return draft.files.length === 0 && !field.required ? undefined : draft.files;
    case "oneof": {
      const i = draft.chosen[0] ?? 0;
      const [variant, inner] = [field.fields?.[i], draft.inside[i]];
      return variant && inner && valueOf({ ...variant, required: field.required }, inner, at, wrong);
    }
    case "object":
    case "map":
      return objectOf(field, draft, at, wrong);
    case "list":
    case "tuple":
      return listOf(field, draft, at, wrong);
    default:
      return draft.text === "" ? undefined : draft.text;
  }
}

/** As people write thousands where a comma is no decimal point. */
const thousands = /^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/;

function numberOf(field: FormField, text: string, pointer: string, wrong: Wrong[]): Value {
  const plain = text.trim().replace(",", ".");
  if (plain === "") {
    return undefined;
  }
  const number = Number(plain);
  const grouped = thousands.test(text.trim());
  if (grouped && (Number.isNaN(number) || currentLanguage() === "en")) {
    wrong.push({ pointer, what: "thousands" }); // 1,204 must not become 1.204
    return undefined;
  }
  if (isLong(plain)) {
    wrong.push({ pointer, what: "long" });
    return undefined;
  }
  if (!Number.isFinite(number)) {
    wrong.push({ pointer, what: "number" });
  } else if (field.kind === "integer" && !Number.isInteger(number)) {
    wrong.push({ pointer, what: "integer" });
  }
  return number;
}

function jsonOf(text: string, pointer: string, wrong: Wrong[]): Value {
  if (text.trim() === "") {
    return undefined;
  }
  try {
    const value = JSON.parse(text) as Value;
    if (!hasLong(text)) {
      return value;
    }
    wrong.push({ pointer, what: "long" });
    return undefined;
  } catch {
    wrong.push({ pointer, what: "json" });
    return undefined;
  }
}

function objectOf(field: FormField, draft: Draft, at: string, wrong: Wrong[]): Value {
  const object: Values = {};
  const found: Wrong[] = [];
  const fields = field.fields ?? [];
  // What is hidden is not sent, but it can decide what else is hidden.
  const inner: Wrong[] = [];
  const all = fields.map((f, i) => valueOf(f, draft.inside[i] ?? startOf(f), at, inner));
  const shown = shownOf(field, all);
  fields.forEach((f, i) => {
    const state = shown[i];
    if (!state?.there || f.read_only) {
      return;
    }
    const value = valueOf({ ...f, required: state.required }, draft.inside[i] ?? startOf(f), at, found);
    if (value !== undefined) {
      object[lastToken(f.pointer)] = value;
    } else if (state.required && f.nullable) {
      object[lastToken(f.pointer)] = null;
    } else if (state.required && !found.some((w) => w.pointer === at + f.pointer)) {
      found.push({ pointer: at + f.pointer, what: "missing" });
    }
  });
  for (const { name, draft: entered } of draft.entries) {
    const pointer = `${at}${field.pointer}/${escapeToken(name)}`;
    if (name === "" || Object.hasOwn(object, name)) {
      found.push({ pointer, what: "name" });
    } else if (field.items) {
      object[name] = valueOf({ ...field.items, required: true }, entered, pointer, found) ?? emptyOf(field.items);
    }
  }
  const nothing = Object.keys(object).length === 0 && !field.required;
  // An object that need not be there lacks nothing until something is in it.
  wrong.push(...(nothing ? found.filter((each) => each.what !== "missing") : found));
  return nothing ? undefined : object;
}

function listOf(field: FormField, draft: Draft, at: string, wrong: Wrong[]): Value {
  const fields = field.fields ?? [];
  const list = fields.map((f, i) => valueOf(f, draft.inside[i] ?? startOf(f), at, wrong));
  while (draft.entries.length === 0 && list.length > 0 && list.at(-1) === undefined) {
    list.pop();
  }
  list.forEach((value, i) => {
    if (value === undefined) {
      wrong.push({ pointer: at + (fields[i]?.pointer ?? ""), what: "missing" });
    }
  });
  draft.entries.forEach((each, i) => {
    const pointer = `${at}${field.pointer}/${fields.length + i}`;
    const { items } = field;
    list.push(items && (valueOf({ ...items, required: true }, each.draft, pointer, wrong) ?? emptyOf(items)));
  });
  return list.length === 0 && !field.required ? undefined : list;
}

/** What an entry is into which nothing was typed. The server says if that cannot be. */
const emptyOf = (field: FormField): Value => (["text", "longtext"].includes(field.kind) ? "" : null);

/** Which of the fields of an object are there, and which must be filled in, by what the others have. */
export function shownOf(field: FormField, values: readonly Value[]): { there: boolean; required: boolean }[] {
  const fields = field.fields ?? [];
  const holds = (condition: NonNullable<FormField["when"]>) => {
    const value = values[fields.findIndex((f) => f.pointer === condition.pointer)];
    const found = condition.values
      ? condition.values.some((each) => same(each, value)) || (condition.absent === true && value === undefined)
      : condition.absent === true
        ? value === undefined
        : value !== undefined;
    return found !== (condition.not ?? false);
  };
  return fields.map((f) => ({
    there: f.when === undefined || holds(f.when),
    required: f.required || (f.required_when !== undefined && holds(f.required_when)),
  }));
}

const two = (n: number) => String(Math.floor(Math.abs(n))).padStart(2, "0");

/** A time of day with the offset of the person, as JSON Schema wants it. */
function timeOf(text: string): Value {
  if (!/^\d\d:\d\d(:\d\d)?$/.test(text)) {
    return text === "" ? undefined : text;
  }
  const minutes = Math.round(offsetAt(new Date()) / 60_000);
  const offset = minutes === 0 ? "Z" : `${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
  return `${text.length === 5 ? `${text}:00` : text}${offset}`;
}
