import type { SyntaxNode, Tree } from "@lezer/common";

/** Where something is in a definition: names of keys and numbers of entries. */
export type Path = readonly (string | number)[];

/** JSON pointers of the API name the same places. */
export const pointerOf = (path: Path): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

export const pathOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

const containers = new Set(["BlockMapping", "FlowMapping", "BlockSequence", "FlowSequence"]);
const scalars = new Set(["Literal", "QuotedLiteral", "BlockLiteral"]);

/** The value in a pair or an entry, below its anchors and tags. */
function valueIn(node: SyntaxNode): SyntaxNode | undefined {
  for (let child = node.lastChild; child; child = child.prevSibling) {
    if (containers.has(child.name) || scalars.has(child.name)) {
      return child;
    }
    if (child.name === "Anchored" || child.name === "Tagged") {
      return valueIn(child);
    }
  }
  return undefined;
}

/** The text of a scalar, as far as it is written in one line. */
export function textOf(node: SyntaxNode | null | undefined, text: string): string {
  const raw = node ? text.slice(node.from, node.to).trim() : "";
  if (raw.startsWith("'")) {
    return raw.slice(1, raw.endsWith("'") && raw.length > 1 ? -1 : undefined).replaceAll("''", "'");
  }
  if (raw.startsWith('"')) {
    try {
      return String(JSON.parse(raw));
    } catch {
      return raw.slice(1);
    }
  }
  return raw;
}

const keyOf = (pair: SyntaxNode, text: string): string => textOf(pair.getChild("Key")?.firstChild, text);

/** The place of a node: of the innermost pair or entry around it. */
export function pathTo(node: SyntaxNode, text: string): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at: SyntaxNode | null = node; at; at = at.parent) {
    if (at.name === "Pair") {
      path.unshift(keyOf(at, text));
    } else if (at.name === "Item") {
      let place = 0;
      for (let before = at.prevSibling; before; before = before.prevSibling) {
        place += before.name === "Item" ? 1 : 0;
      }
      path.unshift(place);
    }
  }
  return path;
}

/** The place in which a position of the text is. */
export function pathAt(tree: Tree, text: string, position: number): (string | number)[] {
  // The white space at the beginning of a line belongs to what the line has.
  const rest = /^[ \t-]*/.exec(text.slice(position, position + 200))?.[0].length ?? 0;
  const line = text.slice(text.lastIndexOf("\n", position - 1) + 1, position);
  return pathTo(tree.resolveInner(/^[ \t-]*$/.test(line) ? position + rest : position, 1), text);
}

/** The value at a place, and the key that names it. */
export function find(tree: Tree, text: string, path: Path): { key?: SyntaxNode; value?: SyntaxNode } | undefined {
  const document = tree.topNode.getChild("Document");
  let found: { key?: SyntaxNode; value?: SyntaxNode } = {};
  let value = document ? valueIn(document) : undefined;
  for (const part of path) {
    const next = value && step(value, text, String(part));
    if (!next) {
      return undefined;
    }
    value = valueIn(next);
    const key = next.getChild("Key") ?? next;
    found = value ? { key, value } : { key };
  }
  return path.length === 0 && value ? { value } : found;
}

function step(value: SyntaxNode, text: string, part: string): SyntaxNode | undefined {
  if (value.name.endsWith("Mapping")) {
    return value.getChildren("Pair").find((pair) => keyOf(pair, text) === part);
  }
  return value.getChildren("Item")[Number(part)];
}

/** What a mapping has: texts, and where something deeper is or nothing yet, undefined. */
export function fieldsOf(node: SyntaxNode | undefined, text: string): Map<string, string | undefined> {
  const fields = new Map<string, string | undefined>();
  for (const pair of node?.name.endsWith("Mapping") ? node.getChildren("Pair") : []) {
    const value = valueIn(pair);
    fields.set(keyOf(pair, text), value && scalars.has(value.name) ? textOf(value, text) : undefined);
  }
  return fields;
}

/** Names of the tasks of a list: each entry has one key. */
export function tasksOf(list: SyntaxNode | undefined, text: string): string[] {
  return (list?.getChildren("Item") ?? []).flatMap((item) => [...fieldsOf(valueIn(item), text).keys()].slice(0, 1));
}

/** What names a definition, as far as it is written. */
export interface Named {
  namespace: string;
  name: string;
  version: string;
}

export function namedIn(tree: Tree, text: string): Named {
  const fields = fieldsOf(find(tree, text, ["document"])?.value, text);
  const field = (name: string) => fields.get(name) ?? "";
  return { namespace: field("namespace"), name: field("name"), version: field("version") };
}

/** The position of a line and column, which count from 1 and count characters; at most the end of the line. */
export function positionOf(text: string, line: number, column: number): number {
  let from = 0;
  for (let at = 1; at < line; at++) {
    const next = text.indexOf("\n", from);
    if (next < 0) {
      break;
    }
    from = next + 1;
  }
  const end = text.indexOf("\n", from);
  const last = end < 0 ? text.length : end;
  let position = from;
  for (let at = 1; at < column && position < last; at++) {
    position += (text.codePointAt(position) ?? 0) > 0xffff ? 2 : 1;
  }
  return position;
}
