import { dereference, format, validate, type OutputUnit, type Schema } from "@cfworker/json-schema";
import type { Finding } from "./findings.ts";
import { escapeToken, type Value } from "./value.ts";

/** What is said of one value at most. */
const most = 200;

/** The formats that the server judges, too. It takes any text for another one. */
const judged = new Set(
  "date time date-time duration uri uri-reference uri-template email hostname ipv4 ipv6 uuid json-pointer".split(" "),
);
for (const name of Object.keys(format)) {
  if (!judged.has(name)) {
    delete format[name];
  }
}
Object.setPrototypeOf(format, null); // a schema may name a format like something that every object has

/** Keywords that say only that something is wrong inside, which is said there. */
const around = new Set(
  (
    "$ref allOf properties patternProperties additionalProperties unevaluatedProperties propertyNames items prefixItems " +
    "unevaluatedItems dependentSchemas if"
  ).split(" "),
);
/** Keywords with several schemas, not all of which must hold: what is wrong with one of them need not be wrong. */
const oneOfSeveral = new Set(["anyOf", "oneOf", "contains", "not", "propertyNames"]);
/** Keywords that have schemas by name, or by number. */
const withNames = new Set("properties patternProperties dependentSchemas allOf anyOf oneOf prefixItems".split(" "));

/**
 * What a JSON Schema (2020-12, as text) says against a value (as text). It throws where the schema is not one that can
 * be checked here. A pattern of the schema, or a schema that refers to itself, can take any time: it may run only where
 * it can be ended from outside.
 */
export function check(schemaText: string, valueText: string): Finding[] {
  const schema = JSON.parse(schemaText) as Schema | boolean;
  const lookup = dereference(schema);
  const { errors } = validate(JSON.parse(valueText), schema, "2020-12", lookup, false);
  const found: Finding[] = [];
  for (const error of errors) {
    const path = error.keywordLocation.split("/").slice(1).map(decodeURIComponent);
    if (found.length < most && !around.has(error.keyword) && !inOneOfSeveral(path)) {
      found.push(findingOf(error, expectedAt(schema, lookup, path)));
    }
  }
  return found;
}

/** Whether a keyword is inside of one with several schemas. */
function inOneOfSeveral(path: readonly string[]): boolean {
  for (let i = 0; i < path.length - 1; i += withNames.has(path[i] ?? "") ? 2 : 1) {
    if (oneOfSeveral.has(path[i] ?? "")) {
      return true;
    }
  }
  return false;
}

/** What a keyword has in the schema. */
function expectedAt(schema: Value, lookup: Record<string, Value>, path: readonly string[]): Value {
  let at: Value = schema;
  for (const token of path) {
    const key = Array.isArray(at) ? token : token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) {
      return undefined;
    }
    at = key === "$ref" ? lookup[String((at as Schema)["__absolute_ref__"])] : (at as Record<string, Value>)[key];
  }
  return at;
}

const missing = /^Instance (?:does not have required property|has ".*" but does not have) "(.*)"\.$/s;

function findingOf({ instanceLocation, keyword, error }: OutputUnit, expected: Value): Finding {
  const pointer = decodeURIComponent(instanceLocation.slice(1));
  const name = keyword === "required" || keyword === "dependentRequired" ? missing.exec(error)?.[1] : undefined;
  if (name !== undefined) {
    return { pointer: `${pointer}/${escapeToken(name)}`, keyword: "required" };
  }
  return {
    pointer,
    keyword,
    ...((typeof expected === "number" || typeof expected === "string") && { expected }),
  };
}
