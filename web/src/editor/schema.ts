/** What is used of the JSON Schema of definitions. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  description?: string;
  type?: string | string[];
  properties?: Record<string, Schema | boolean>;
  additionalProperties?: Schema | boolean;
  required?: string[];
  items?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  if?: Schema;
  then?: Schema;
  else?: Schema;
  not?: Schema;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  deprecated?: boolean;
}

/** What the text has in a mapping: its keys, with their texts. Undefined: it is no mapping, or not known. */
export type Fields = ReadonlyMap<string, string | undefined> | undefined;

/** All schemas that hold for a value at once, or of which one does. Those that its fields rule out are left out. */
export function spread(root: Schema, schema: Schema | boolean | undefined, fields: Fields, depth = 0): Schema[] {
  if (typeof schema !== "object" || depth > 12) {
    return [];
  }
  const deeper = (each: Schema | boolean | undefined) => spread(root, each, fields, depth + 1);
  const found = [schema];
  if (schema.$ref !== undefined) {
    found.push(...deeper(root.$defs?.[schema.$ref.slice("#/$defs/".length)]));
  }
  schema.allOf?.forEach((each) => found.push(...deeper(each)));
  for (const choice of [schema.anyOf, schema.oneOf]) {
    if (choice) {
      const fitting = choice.filter((each) => fits(deeper(each), fields));
      (fitting.length > 0 ? fitting : choice).forEach((each) => found.push(...deeper(each)));
    }
  }
  if (schema.if) {
    found.push(...deeper(holds(schema.if, fields) ? schema.then : schema.else));
  }
  return found;
}

/** Whether a choice can be what is meant by someone who has written these fields. */
function fits(schemas: Schema[], fields: Fields): boolean {
  if (!fields || fields.size === 0) {
    return true;
  }
  const known = new Set(schemas.flatMap((each) => Object.keys(each.properties ?? {})));
  const open = schemas.some((each) => each.type === "object" && each.additionalProperties !== false);
  return [...fields].every(
    ([key, text]) =>
      (open || known.has(key)) &&
      schemas.every((each) => {
        const field = each.properties?.[key];
        return typeof field !== "object" || field.const === undefined || text === undefined || field.const === text;
      }),
  );
}

/** Whether a condition of the schema is met. It is about keys that are there, and about their values. */
function holds(condition: Schema, fields: Fields): boolean {
  const has = fields ?? new Map<string, string | undefined>();
  return (
    (condition.required ?? []).every((key) => has.has(key)) &&
    Object.entries(condition.properties ?? {}).every(([key, value]) => {
      if (typeof value !== "object" || !has.has(key)) {
        return true;
      }
      const text = has.get(key);
      const { const: one, enum: some } = value;
      return (one === undefined || one === text) && (some === undefined || some.includes(text));
    }) &&
    !(condition.not && holds(condition.not, fields)) &&
    (condition.anyOf?.some((each) => holds(each, fields)) ?? true) &&
    (condition.allOf?.every((each) => holds(each, fields)) ?? true)
  );
}

/** The schemas at a place. Fields says what is in the mappings on the way there. */
export function schemasAt(
  root: Schema,
  path: readonly (string | number)[],
  fields: (length: number) => Fields,
): Schema[] {
  let found = spread(root, root, fields(0));
  path.forEach((part, place) => {
    const inner = found.flatMap((each): (Schema | boolean | undefined)[] => {
      if (typeof part === "number") {
        return [each.items];
      }
      return [each.properties?.[part] ?? each.additionalProperties];
    });
    found = inner.flatMap((each) => spread(root, each, fields(place + 1)));
  });
  return [...new Set(found)];
}

/** What can be written at a place. */
export interface Offer {
  name: string;
  about?: string;
  /** How what follows is written. */
  kind: "text" | "object" | "list";
  /** What is written in its place, and what of it the author writes anew. */
  written?: string;
  parts?: readonly { from: number; to: number }[];
}

/** Keys that a mapping can have. */
export function keysOf(root: Schema, schemas: readonly Schema[]): Offer[] {
  const offers = new Map<string, Offer>();
  for (const schema of schemas) {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (typeof field !== "object" || field.deprecated === true) {
        continue;
      }
      const parts = spread(root, field, undefined);
      const about = offers.get(name)?.about ?? field.description ?? parts.find((each) => each.description)?.description;
      offers.set(name, { name, kind: kindOf(parts), ...(about !== undefined && { about }) });
    }
  }
  return [...offers.values()];
}

function kindOf(parts: readonly Schema[]): Offer["kind"] {
  const types = new Set(parts.flatMap((each) => each.type ?? []));
  if (types.size !== 1) {
    return "text";
  }
  return types.has("object") ? "object" : types.has("array") ? "list" : "text";
}

/** Values that a text can have. */
export function valuesOf(schemas: readonly Schema[]): Offer[] {
  const values = schemas.flatMap((each) => [
    ...(each.enum ?? []),
    ...(each.const === undefined ? [] : [each.const]),
    ...(each.examples ?? []),
    ...(each.default === undefined ? [] : [each.default]),
    ...(each.type === "boolean" ? [true, false] : []),
  ]);
  const texts = values.filter((value) => ["string", "number", "boolean"].includes(typeof value)).map(String);
  return [...new Set(texts)].map((name) => ({ name, kind: "text" }));
}
