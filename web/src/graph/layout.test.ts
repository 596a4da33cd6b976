import { expect, test } from "vitest";
import everything from "../../../internal/graph/testdata/everything.json";
import { layoutGraph, type Box, type Layout } from "./layout.ts";
import { closedAtFirst, countInside, indexOf, outline, root, type Edge, type Graph, type Node } from "./model.ts";
import { walk } from "./walk.ts";

/** As the server draws the definition with every kind of task and edge. */
const real = everything as unknown as Graph;

const pointer = (n: number) => `/do/${n}/t${n}`;

/** A list of tasks that are so many, with the edges that are given by their numbers. */
function list(length: number, ways: [number, number | "list" | "workflow", Edge["kind"]?][]): Graph {
  const nodes = Array.from({ length }, (_, n): Node => {
    return { id: pointer(n), kind: "set", name: `t${n}`, scope: root, line: n, container: false, human: false };
  });
  const edges = ways.map(([from, to, kind = "next"]): Edge => {
    const own = { from: pointer(from), kind, scope: root, label: kind === "case" ? `to ${to}` : "" };
    return typeof to === "number" ? { ...own, to: pointer(to), back: to <= from } : { ...own, to: null, leaves: to };
  });
  return { digest: "", nodes, edges, scopes: [{ id: root, owner: null, role: "list", nodes: nodes.map((n) => n.id) }] };
}

const chain = (length: number) =>
  list(
    length,
    Array.from({ length }, (_, n) => [n, n + 1 === length ? "list" : n + 1]),
  );

/** A switch with three ways that meet again, one that is longer, one over several rows, and one back. */
const switched = list(6, [
  [0, 1],
  [1, 2, "case"],
  [1, 3, "case"],
  [1, 5, "case"],
  [1, "workflow", "case"],
  [2, 5, "then"],
  [3, 4],
  [4, 5],
  [4, 0, "case"],
  [5, "list"],
]);

const open = (graph: Graph, closed: string[] = []) => layoutGraph(indexOf(graph), new Set(closed));

const within = (inner: Box, outer: Box) =>
  inner.x >= outer.x &&
  inner.y >= outer.y &&
  inner.x + inner.width <= outer.x + outer.width &&
  inner.y + inner.height <= outer.y + outer.height;

const apart = (a: Box, b: Box) =>
  a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;

/** What must hold of every layout: boxes are apart or in each other, and lines go through no task. */
function faults(layout: Layout): string[] {
  const found: string[] = [];
  layout.boxes.forEach((a, place) => {
    for (const b of layout.boxes.slice(place + 1)) {
      if (!apart(a, b) && !(a.kind === "box" && within(b, a))) {
        found.push(`${a.id} and ${b.id} lie on each other`);
      }
    }
  });
  for (const line of layout.lines) {
    line.points.slice(1).forEach((end, place) => {
      const start = line.points[place] ?? end;
      if (start.x !== end.x && start.y !== end.y) {
        found.push(`${line.id} is not at a right angle`);
      }
      for (const box of layout.boxes) {
        const crosses =
          Math.max(start.x, end.x) > box.x &&
          Math.min(start.x, end.x) < box.x + box.width &&
          Math.max(start.y, end.y) > box.y &&
          Math.min(start.y, end.y) < box.y + box.height;
        const holds = line.from.startsWith(`${box.id}/`) || line.to.startsWith(`${box.id}/`) || line.from === box.id;
        if (crosses && !holds) {
          found.push(`${line.id} crosses ${box.id}`);
        }
      }
    });
  }
  return found;
}

const places = (layout: Layout) =>
  layout.boxes.map(({ id, kind, x, y, width, height }) => `${kind} ${id} ${x},${y} ${width}×${height}`);

test.each([
  ["everything", open(real)],
  [
    "everything, closed",
    open(
      real,
      real.nodes.filter((node) => node.container).map((node) => node.id),
    ),
  ],
  ["a switch", open(switched)],
  ["a chain", open(chain(40))],
])("%s: nothing lies on anything else", (_, layout) => {
  expect(faults(layout)).toEqual([]);
  expect(layout.lines.every((line) => line.points.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)))).toBe(
    true,
  );
});

test("a definition with every kind of task has these places", () => {
  expect(places(open(real))).toMatchSnapshot();
});

test("a switch has these places and lines", () => {
  const layout = open(switched);
  expect(places(layout)).toMatchSnapshot();
  expect(layout.lines.map((line) => [line.id, line.points, line.label, line.back])).toMatchSnapshot();
});

test("a chain of 10,000 tasks is stacked in their order", () => {
  const { boxes } = open(chain(10_000));
  const tasks = boxes.filter((box) => box.kind === "task");
  expect(tasks).toHaveLength(10_000);
  expect(tasks.every((box, n) => box.node?.name === `t${n}` && box.y > (tasks[n - 1]?.y ?? 0))).toBe(true);
});

test("an outline has the tasks that are not in closed ones, and says where they lead", () => {
  const index = indexOf(real);
  const each = "/do/2/each";
  expect(countInside(index, each)).toBe(2);
  const names = outline(index, new Set([each])).map((line) => `${line.depth} ${line.node.name}`);
  expect(names.slice(0, 5)).toEqual(["0 fetch", "0 route", "0 each", "0 both", "1 fast"]);
  const route = outline(index, new Set())[1];
  expect(route?.ways.map((way) => [way.label, way.to ?? way.leaves])).toEqual([
    ["missing, broken", "/do/5/ask"],
    ["old", "workflow"],
    ["else", each],
  ]);
  expect(closedAtFirst(index).size).toBe(0);
});

test("arrows lead along the lines, into a box and out of it", () => {
  const index = indexOf(real);
  const layout = open(real);
  const each = "/do/2/each";
  const check = "/do/2/each/do/0/check";
  expect(walk(index, layout, each, "ArrowRight")).toBe(check);
  expect(walk(index, layout, check, "ArrowUp")).toBe(each);
  // Nothing leads to never, which stands beside.
  expect(walk(index, layout, check, "ArrowLeft")).toBe("/do/2/each/do/1/never");
  expect(walk(index, layout, "/do/2/each/do/1/never", "ArrowLeft")).toBe(each);
  expect(walk(index, layout, each, "ArrowDown")).toBe("/do/3/both");
  expect(walk(index, layout, "/do/3/both/fork/branches/0/fast", "ArrowRight")).toBe("/do/3/both/fork/branches/1/slow");
  expect(walk(index, layout, "/do/0/fetch", "ArrowUp")).toBeUndefined();
});
