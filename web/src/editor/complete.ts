import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { yamlLanguage } from "@codemirror/lang-yaml";
import type { Tree } from "@lezer/common";
import { fieldsOf, find, pathTo, tasksOf, type Path } from "./path.ts";
import { keysOf, schemasAt, valuesOf, type Fields, type Offer, type Schema } from "./schema.ts";
import { writeParts } from "./parts.ts";
import { pageAbout } from "./reference.ts";
import { partsOf, taskFrom, taskSnippets } from "./snippets.ts";

/** Stands for what the person is about to write, so that the text around it can be read. */
const blank = "zz";

/** Where the cursor is in a definition, and whether a key or a value comes there. */
interface Cursor {
  kind: "key" | "value";
  path: Path;
  /** Where that which is being written begins. */
  from: number;
  /** The text, with something in the place of what is being written. */
  text: string;
  tree: Tree;
}

export function cursorAt(text: string, position: number): Cursor {
  const start = text.lastIndexOf("\n", position - 1) + 1;
  const before = text.slice(start, position);
  const begun = /[\w-]*$/.exec(before)?.[0] ?? "";
  const isKey = /^[\s-]*$/.test(before.slice(0, before.length - begun.length)) && !begun.startsWith("-");
  const typed = isKey ? begun : (/[\w.:@/-]*$/.exec(before)?.[0] ?? "");
  const from = position - typed.length;
  const rest = /^[\w.@/-]*/.exec(text.slice(position, position + 200))?.[0].length ?? 0;
  const after = text.slice(position + rest);
  const filled = isKey && !/^\s*:/.test(after) ? `${blank}: ${blank}` : blank;
  const probe = text.slice(0, from) + filled + after;
  const tree = yamlLanguage.parser.parse(probe);
  const node = tree.resolveInner(from + 1, -1);
  const pair = node.parent?.name === "Key" ? node.parent.parent : undefined;
  return {
    kind: pair ? "key" : "value",
    path: pair?.parent ? pathTo(pair.parent, probe) : pathTo(node, probe),
    from,
    text: probe,
    tree,
  };
}

/** Names that expressions have everywhere, with what they stand for. */
export type Variables = readonly (readonly [name: string, about: string])[];

/** What can be written at a position of a definition in YAML. */
export function offersAt(
  root: Schema,
  variables: Variables,
  text: string,
  position: number,
): { from: number; cursor: Cursor; offers: Offer[] } {
  const cursor = cursorAt(text, position);
  const dollar = /\$\w*$/.exec(text.slice(Math.max(0, position - 80), position));
  if (dollar) {
    const loops = loopNames(cursor).map((name): Offer => ({ name: `$${name}`, kind: "text" }));
    const known = variables.map(([name, about]): Offer => ({ name, about, kind: "text" }));
    return { from: position - dollar[0].length, cursor, offers: [...loops, ...known] };
  }
  const fields = (length: number): Fields => {
    const value = find(cursor.tree, cursor.text, cursor.path.slice(0, length))?.value;
    if (!value?.name.endsWith("Mapping")) {
      return undefined;
    }
    const found = fieldsOf(value, cursor.text);
    found.delete(blank);
    return found;
  };
  const schemas = schemasAt(root, cursor.path, fields);
  if (cursor.kind === "value") {
    const names = [...targets(cursor), ...parts(cursor)].map((name): Offer => ({ name, kind: "text" }));
    // What stands under a key without a value yet may be its value or the first of its keys.
    return { from: cursor.from, cursor, offers: [...names, ...valuesOf(schemas)] };
  }
  const present = fields(cursor.path.length);
  const tasks = present === undefined || present.size === 0 ? tasksAt(cursor) : [];
  return {
    from: cursor.from,
    cursor,
    offers: [...tasks, ...keysOf(root, schemas).filter((offer) => !present?.has(offer.name))],
  };
}

/** Keys that lists of tasks stand under. */
const lists = ["do", "try", "branches", "before", "after"];

/** Whole tasks, where the list that the cursor is in gets another one. */
function tasksAt({ path, from, tree, text }: Cursor): Offer[] {
  if (typeof path.at(-1) !== "number" || !lists.includes(String(path.at(-2)))) {
    return [];
  }
  const taken = tasksOf(find(tree, text, path.slice(0, -1))?.value, text);
  const column = from - text.lastIndexOf("\n", from - 1) - 1;
  return Object.entries(taskSnippets).map(([name, snippet]) => {
    const task = taskFrom(snippet, column, taken);
    return { name, kind: "text", written: task, parts: partsOf(task, snippet) };
  });
}

/** Names of the tasks beside the one that a `then` is in. */
function targets({ path, tree, text }: Cursor): string[] {
  if (path.at(-1) !== "then") {
    return [];
  }
  const place = path.findLastIndex((part, i) => typeof part === "number" && path[i - 1] !== "switch");
  const list = tasksOf(find(tree, text, path.slice(0, place))?.value, text);
  return list.filter((name) => name !== path[place + 1]);
}

/** Under which key of `use` that stands which a key names. */
const collections: Record<string, string[]> = {
  call: ["functions"],
  retry: ["retries"],
  timeout: ["timeouts"],
  error: ["errors"],
  authentication: ["authentications"],
  use: ["authentications", "secrets"],
};

/** Names of the parts in `use` that can be named at a place. */
function parts({ path, tree, text }: Cursor): string[] {
  return (collections[String(path.at(-1))] ?? []).flatMap((name) => {
    const value = find(tree, text, ["use", name])?.value;
    const entries = value?.getChildren("Item").map((item) => text.slice(item.from, item.to).trim());
    return [...fieldsOf(value, text).keys(), ...(entries ?? [])];
  });
}

/** Names that the loops around a place give their item and its number. */
function loopNames({ path, tree, text }: Cursor): string[] {
  return path.flatMap((_, i) => {
    const loop = find(tree, text, [...path.slice(0, i + 1), "for"])?.value;
    const fields = fieldsOf(loop, text);
    return loop ? [fields.get("each") ?? "item", fields.get("at") ?? "index"] : [];
  });
}

/** The keys of the mappings on a path, by the length of the path to them. */
export const fieldsAt =
  (tree: Tree, text: string, path: Path) =>
  (length: number): Fields => {
    const value = find(tree, text, path.slice(0, length))?.value;
    return value?.name.endsWith("Mapping") ? fieldsOf(value, text) : undefined;
  };

/** What a word of a definition stands for. */
export interface About {
  from: number;
  to: number;
  text: string;
  /** The page of the reference about it, below docs/language. */
  page: string;
}

/** What is at a position: a key of the language, or a variable of an expression. */
export function aboutAt(
  root: Schema,
  variables: Variables,
  tree: Tree,
  text: string,
  position: number,
): About | undefined {
  const line = text.lastIndexOf("\n", position - 1) + 1;
  for (const word of text
    .slice(line, line + 2000)
    .split("\n", 1)[0]
    ?.matchAll(/\$[a-z]\w*/g) ?? []) {
    const from = line + word.index;
    const known = variables.find(([name]) => name === word[0]);
    if (known && from <= position && position <= from + word[0].length) {
      return { from, to: from + word[0].length, text: known[1], page: "expressions" };
    }
  }
  const key = tree.resolveInner(position, 1).parent;
  if (key?.name !== "Key" || !key.parent) {
    return undefined;
  }
  const path = pathTo(key.parent, text);
  const fields = fieldsAt(tree, text, path);
  const offers = keysOf(root, schemasAt(root, path.slice(0, -1), fields));
  const about = offers.find((offer) => offer.name === path.at(-1))?.about;
  return about === undefined ? undefined : { from: key.from, to: key.to, text: about, page: pageAbout(path, fields) };
}

/** The source of completions for the editor. */
export function completeFrom(root: Schema, variables: Variables) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    if (text.trimStart().startsWith("{")) {
      return null; // the place of the cursor is read from lines, which JSON need not have
    }
    const { from, cursor, offers } = offersAt(root, variables, text, context.pos);
    if (offers.length === 0 || (from === context.pos && !context.explicit)) {
      return null;
    }
    const column = from - text.lastIndexOf("\n", from - 1) - 1;
    const options = offers.map((offer): Completion => ({
      label: offer.name,
      ...(offer.about !== undefined && { info: offer.about }),
      ...(cursor.kind === "key" && !offer.name.startsWith("$") && { apply: applied(offer, column) }),
    }));
    return { from, options, validFor: /^[$\w.:@/-]*$/ };
  };
}

/** What is written when an offer is taken. */
function applied(offer: Offer, column: number): NonNullable<Completion["apply"]> {
  const { written: task, parts: own } = offer;
  return task === undefined || own === undefined ? written(offer, column) : writeParts(task, own);
}

/** A key, with the beginning of its value. */
function written({ name, kind }: Offer, column: number): string {
  const below = `\n${" ".repeat(column + 2)}`;
  return `${name}:${kind === "text" ? " " : kind === "list" ? `${below}- ` : below}`;
}
