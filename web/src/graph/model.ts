import type { Schemas } from "../api/client.ts";

export type Graph = Schemas["Graph"];
export type Node = Schemas["GraphNode"];
export type Edge = Schemas["GraphEdge"];
export type Scope = Schemas["GraphScope"];

/** A graph by the names of its parts. */
export interface Index {
  graph: Graph;
  nodes: ReadonlyMap<string, Node>;
  scopes: ReadonlyMap<string, Scope>;
  /** Scopes that a task holds, in order. */
  held: ReadonlyMap<string, readonly Scope[]>;
  /** Edges of a scope, in order. */
  edges: ReadonlyMap<string, readonly Edge[]>;
}

export function indexOf(graph: Graph): Index {
  return {
    graph,
    nodes: new Map(graph.nodes.map((node) => [node.id, node])),
    scopes: new Map(graph.scopes.map((scope) => [scope.id, scope])),
    held: groupBy(graph.scopes, (scope) => scope.owner ?? ""),
    edges: groupBy(graph.edges, (edge) => edge.scope),
  };
}

/** Values by a key of theirs. */
export function groupBy<Key, T>(values: readonly T[], keyOf: (value: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) {
      group.push(value);
    } else {
      groups.set(key, [value]);
    }
  }
  return groups;
}

/** The list of the definition itself. */
export const root = "/do";

/** A task of the graph as a row of its outline. */
export interface Line {
  node: Node;
  depth: number;
  /** Where it leads, if not to the next task. */
  ways: readonly Edge[];
  /** What the list is that it begins, such as a handler. */
  heading: string | undefined;
}

/** Tasks in the order of the definition, without those in closed ones. */
export function outline(index: Index, closed: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  const list = (scope: Scope, depth: number) => {
    const ways = groupBy(index.edges.get(scope.id) ?? [], (edge) => edge.from);
    scope.nodes.forEach((id, place) => {
      const node = index.nodes.get(id);
      if (!node) {
        return;
      }
      lines.push({
        node,
        depth,
        ways: (ways.get(id) ?? []).filter((edge) => edge.kind !== "next"),
        heading: place === 0 && scope.role === "catch" ? (scope.label ?? "") : undefined,
      });
      if (!closed.has(id)) {
        index.held.get(id)?.forEach((inner) => list(inner, depth + 1));
      }
    });
  };
  const first = index.scopes.get(root);
  if (first) {
    list(first, 0);
  }
  return lines;
}

/** How many tasks a task holds, at all depths. */
export function countInside(index: Index, id: string): number {
  let count = 0;
  for (const scope of index.held.get(id) ?? []) {
    count += scope.nodes.length;
    scope.nodes.forEach((node) => (count += countInside(index, node)));
  }
  return count;
}

const manyNodes = 300;

/** Tasks that are closed at first: in a large graph those that hold others and are themselves held. */
export function closedAtFirst(index: Index): Set<string> {
  const large = index.graph.nodes.length > manyNodes;
  return new Set(large ? index.graph.nodes.filter((n) => n.container && n.scope !== root).map((n) => n.id) : []);
}
