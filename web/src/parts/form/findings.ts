import { formTexts } from "../../messages/workflows.ts";
import { isObject } from "./value.ts";

/** What a schema says against a value: where, by which keyword, and what the keyword has. */
export interface Finding {
  pointer: string;
  keyword: string;
  expected?: number | string;
}

const draft = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

/** Of a schema, and of a value, as text. */
const longest = 256 * 1024;

/** A schema as text, as it is checked; undefined: only the server can. */
export function checkable(schema: unknown): string | undefined {
  if (!isObject(schema)) {
    return undefined;
  }
  const { $schema: named } = schema;
  return named === undefined || (typeof named === "string" && draft.test(named)) ? bounded(schema) : undefined;
}

/** A value as text; undefined: there is none, or it is too long to be checked at each field. */
export function bounded(value: unknown): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined || text.length > longest ? undefined : text;
}

/** Whether a pointer is another one or below it. */
export const isInside = (pointer: string, outer: string) => pointer === outer || pointer.startsWith(`${outer}/`);

/** What is said at a field that the person has left, in the words of the page. */
export function sayFound(
  found: readonly Finding[],
  left: ReadonlySet<string>,
  pointer: string,
  below: boolean,
): string | undefined {
  const first = left.has(pointer)
    ? found.find((each) => (below ? isInside(each.pointer, pointer) : each.pointer === pointer))
    : undefined;
  if (first === undefined) {
    return undefined;
  }
  const said = sayFinding(first);
  return first.pointer === pointer ? said : `${first.pointer.slice(pointer.length + 1)}: ${said}`;
}

function sayFinding({ keyword, expected }: Finding): string {
  const texts = formTexts().found;
  if (keyword === "format") {
    const { formats } = texts;
    const name = String(expected);
    return Object.hasOwn(formats, name) ? formats[name as keyof typeof formats] : texts.form;
  }
  if (typeof expected === "number" && Object.hasOwn(texts.number, keyword)) {
    return texts.number[keyword as keyof typeof texts.number](expected);
  }
  switch (keyword) {
    case "required":
      return formTexts().wrong.missing;
    case "type":
      return texts.type;
    case "enum":
    case "const":
      return texts.option;
    case "pattern":
      return texts.form;
    case "uniqueItems":
      return texts.unique;
    default:
      return texts.other;
  }
}
