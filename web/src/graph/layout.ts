import { flow } from "./flow.ts";
import { root, type Edge, type Index, type Node, type Scope } from "./model.ts";

export const nodeWidth = 200;
export const nodeHeight = 48;
const head = 56;
const padding = 16;
const label = 20;
/** Between lists that are side by side. */
const beside = 32;

export interface Point {
  x: number;
  y: number;
}

/** Something that has a place: a task, a box around the tasks that it holds, or where a list begins or ends. */
export interface Box extends Point {
  id: string;
  kind: "task" | "box" | "start" | "end" | "exit" | "label";
  width: number;
  height: number;
  node?: Node;
  text?: string;
}

/** A line from a task to another, or to the end. */
export interface Line {
  id: string;
  from: string;
  to: string;
  points: Point[];
  back: boolean;
  kind: Edge["kind"] | "start";
  label?: string;
  /** Where the label begins. */
  at?: Point;
}

export interface Layout {
  width: number;
  height: number;
  boxes: Box[];
  lines: Line[];
}

/** Lays a graph out from the inside: each list alone, which is one box in the list around it. */
export function layoutGraph(index: Index, closed: ReadonlySet<string>): Layout {
  const scope = index.scopes.get(root);
  return scope ? layoutScope(index, closed, scope) : { width: 0, height: 0, boxes: [], lines: [] };
}

function layoutScope(index: Index, closed: ReadonlySet<string>, scope: Scope): Layout {
  const inner = new Map<string, Layout>();
  const items = scope.nodes.flatMap((id) => {
    const node = index.nodes.get(id);
    if (!node) {
      return [];
    }
    const inside = closed.has(id) ? undefined : layoutContainer(index, closed, node);
    if (inside) {
      inner.set(id, inside);
    }
    return { id, width: inside?.width ?? nodeWidth, height: inside?.height ?? nodeHeight, node };
  });
  const placed = flow(scope.id, items, index.edges.get(scope.id) ?? [], scope.id === root);
  const boxes: Box[] = [];
  const lines = [...placed.lines];
  for (const box of placed.boxes) {
    boxes.push(box);
    const inside = inner.get(box.id);
    if (inside) {
      box.kind = "box";
      const moved = move(inside, box.x, box.y);
      boxes.push(...moved.boxes);
      lines.push(...moved.lines);
    }
  }
  return { width: placed.width, height: placed.height, boxes, lines };
}

/** What a task holds, below the head of its box. Undefined if it holds nothing. */
function layoutContainer(index: Index, closed: ReadonlySet<string>, node: Node): Layout | undefined {
  const scopes = index.held.get(node.id);
  if (!scopes?.length) {
    return undefined;
  }
  const found: Layout = { width: 0, height: 0, boxes: [], lines: [] };
  let left = padding;
  let below = 0;
  let body: { right: number } | undefined;
  for (const scope of scopes) {
    const inside = layoutScope(index, closed, scope);
    const handler = scope.role === "catch";
    const width = Math.max(inside.width, handler ? nodeWidth : 0);
    const top = head + (scopes.some((other) => other.role === "catch") ? label + 4 : 0);
    const moved = move(inside, left + (width - inside.width) / 2, top);
    found.boxes.push(...moved.boxes);
    found.lines.push(...moved.lines);
    if (handler) {
      const at = { x: left, y: head, width, height: label };
      found.boxes.push({ id: `${scope.id} label`, kind: "label", text: scope.label ?? "", ...at });
      if (body) {
        const y = head + label / 2;
        const points = [
          { x: body.right, y },
          { x: left, y },
        ];
        const way = { from: node.id, to: scope.nodes[0] ?? "", kind: "caught" as const, back: false };
        found.lines.push({ id: `${scope.id} caught`, points, ...way });
      }
    }
    body = { right: left + width };
    below = Math.max(below, top + inside.height);
    left += width + beside;
  }
  found.width = Math.max(nodeWidth + 2 * padding, left - beside + padding);
  found.height = below + padding;
  return found;
}

function move(layout: Layout, x: number, y: number): Layout {
  const moved = <T extends Point>(point: T): T => ({ ...point, x: point.x + x, y: point.y + y });
  return {
    ...layout,
    boxes: layout.boxes.map(moved),
    lines: layout.lines.map((line) => ({
      ...line,
      points: line.points.map(moved),
      ...(line.at && { at: moved(line.at) }),
    })),
  };
}
