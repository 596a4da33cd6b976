import { Graph, layout } from "@dagrejs/dagre";
import type { Box, Layout, Line, Point } from "./layout.ts";
import { groupBy, type Edge, type Node } from "./model.ts";

interface Item {
  id: string;
  width: number;
  height: number;
  node?: Node;
  kind?: Box["kind"];
}

interface Way {
  edge: Edge | undefined; // none from the start
  from: string;
  to: string;
}

const gap = 36;
const across = 32;
/** Between a way back and the next one, beside a list. */
const gutter = 16;
const pill = { width: 64, height: 24 };
const port = { width: 12, height: 12 };

/** Lays out one list, whose tasks have their sizes. The list of the definition itself has a start and an end. */
export function flow(scope: string, tasks: readonly Item[], edges: readonly Edge[], whole: boolean): Layout {
  const start = `${scope} start`;
  const end = `${scope} end`;
  const last = tasks.at(-1)?.id;
  const leaving = edges.filter((edge) => edge.leaves === "list");
  const ending = whole || leaving.some((edge) => edge.from !== last || edge.kind !== "next");
  const items: Item[] = [...tasks];
  const ways: Way[] = [];
  if (whole) {
    items.unshift({ id: start, kind: "start", ...pill });
    ways.push({ edge: undefined, from: start, to: tasks[0]?.id ?? end });
  }
  for (const edge of edges) {
    if (edge.to !== null) {
      ways.push({ edge, from: edge.from, to: edge.to });
    } else if (edge.leaves === "workflow" && !whole) {
      const id = `${edge.from} ${edge.kind} exit`;
      items.push({ id, kind: "exit", ...pill });
      ways.push({ edge, from: edge.from, to: id });
    } else if (ending) {
      ways.push({ edge, from: edge.from, to: end });
    }
  }
  if (ending) {
    items.push({ id: end, kind: "end", ...(whole ? pill : port) });
  }
  const forward = ways.filter((way) => !way.edge?.back);
  const straight =
    forward.length === ways.length &&
    forward.length === items.length - 1 &&
    forward.every((way, place) => way.from === items[place]?.id && way.to === items[place + 1]?.id);
  const placed = straight ? stack(items) : branch(items, forward);
  const back = ways.filter((way) => way.edge?.back);
  return finish(placed, ways, back);
}

/** Places by their centres, and the points that dagre has on the way. */
interface Placed {
  boxes: Map<string, Box>;
  bends: Map<Way, Point[]>;
}

const boxOf = (item: Item, x: number, y: number): Box => ({
  id: item.id,
  kind: item.kind ?? "task",
  x,
  y,
  width: item.width,
  height: item.height,
  ...(item.node && { node: item.node }),
});

/** A list without branches, one below the other. It takes time in proportion to its length. */
function stack(items: readonly Item[]): Placed {
  const width = Math.max(0, ...items.map((item) => item.width));
  const boxes = new Map<string, Box>();
  let y = 0;
  for (const item of items) {
    boxes.set(item.id, boxOf(item, (width - item.width) / 2, y));
    y += item.height + gap;
  }
  return { boxes, bends: new Map() };
}

function branch(items: readonly Item[], ways: readonly Way[]): Placed {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: across, ranksep: gap, edgesep: 24 });
  for (const { id, width, height } of items) {
    graph.setNode(id, { width, height });
  }
  const entering = groupBy(ways, (way) => way.to);
  const leaving = groupBy(ways, (way) => way.from);
  ways.forEach((way, place) => {
    const joins = (entering.get(way.to)?.length ?? 0) > 1;
    const weight = way.edge?.kind === "next" || !way.edge ? (joins ? 4 : 10) : joins ? 1 : 6;
    graph.setEdge(way.from, way.to, { weight, minlen: 1 }, String(place));
  });
  layout(graph, { constraints: [...leaving.values()].flatMap(inOrder) });
  const boxes = new Map<string, Box>();
  for (const item of items) {
    const { x, y } = graph.node(item.id) as Required<Point>;
    boxes.set(item.id, boxOf(item, Math.round(x - item.width / 2), Math.round(y - item.height / 2)));
  }
  const bends = new Map<Way, Point[]>();
  ways.forEach((way, place) => {
    const { points } = graph.edge(way.from, way.to, String(place)) as { points: Point[] };
    bends.set(way, points.slice(1, -1));
  });
  return { boxes, bends };
}

/** The cases of a switch are from left to right as they are written. */
const inOrder = (ways: readonly Way[]) =>
  ways.slice(1).flatMap(({ to }, place) => {
    const left = ways[place]?.to ?? to;
    return left === to ? [] : [{ left, right: to }];
  });

function finish({ boxes, bends }: Placed, ways: readonly Way[], back: readonly Way[]): Layout {
  const lines: Line[] = [];
  const ranks = ranksOf([...boxes.values()]);
  ways.forEach((way, place) => {
    const from = boxes.get(way.from);
    const to = boxes.get(way.to);
    if (!from || !to) {
      return;
    }
    const returning = back.indexOf(way);
    const a = { x: from.x + from.width / 2, y: from.y + from.height };
    const b = { x: to.x + to.width / 2, y: to.y };
    const points =
      returning >= 0
        ? gutterWay(a, b, -gutter * (returning + 1), ranks.get(from), ranks.get(to))
        : bend(a, b, bends.get(way) ?? [], ranks.get(from));
    const text = way.edge?.label;
    lines.push({
      id: `${way.from} ${place}`,
      from: way.from,
      to: way.to,
      points,
      back: returning >= 0,
      kind: way.edge?.kind ?? "start",
      ...(text !== undefined && text !== "" && { label: text, at: labelPlace(points) }),
    });
  });
  return normalise([...boxes.values()], lines);
}

/** The highest and the lowest of what is in one line with a box. */
function ranksOf(boxes: readonly Box[]): Map<Box, { top: number; bottom: number }> {
  const rows = groupBy(boxes, (box) => Math.round((box.y + box.height / 2) / 2));
  return new Map(
    boxes.map((box) => {
      const row = rows.get(Math.round((box.y + box.height / 2) / 2)) ?? [box];
      return [box, { top: Math.min(...row.map((b) => b.y)), bottom: Math.max(...row.map((b) => b.y + b.height)) }];
    }),
  );
}

/**
 * Right angles through all points of dagre. They alternate between the space below a row and the next row: a line turns
 * in the space only, so that it crosses no box of a row.
 */
function bend(a: Point, b: Point, bends: readonly Point[], rank: { bottom: number } | undefined): Point[] {
  const anchors = [a.x, ...bends.filter((_, place) => place % 2 === 1).map((point) => Math.round(point.x)), b.x];
  const spaces = bends.filter((_, place) => place % 2 === 0).map((point) => Math.round(point.y));
  const points: Point[] = [a];
  anchors.slice(1).forEach((x, place) => {
    const before = anchors[place] ?? a.x;
    const y = spaces[place] ?? (rank?.bottom ?? a.y) + gap / 2;
    if (x !== before) {
      points.push({ x: before, y }, { x, y });
    }
  });
  points.push(b);
  return points;
}

/** The way back: below its row to the left of all, up, and above the row of its target to its middle. */
function gutterWay(
  a: Point,
  b: Point,
  x: number,
  from: { bottom: number } | undefined,
  to: { top: number } | undefined,
): Point[] {
  const below = (from?.bottom ?? a.y) + 10;
  const above = (to?.top ?? b.y) - 10;
  return [a, { x: a.x, y: below }, { x, y: below }, { x, y: above }, { x: b.x, y: above }, b];
}

/** Beside the line that leads on, below its last turn that is near the source. */
function labelPlace(points: readonly Point[]): Point {
  const [a, , c] = points;
  const at = points.length > 2 ? c : a;
  return { x: (at?.x ?? 0) + 8, y: (at?.y ?? 0) + 13 };
}

/** Moves all to the right of zero and below it. */
function normalise(boxes: Box[], lines: Line[]): Layout {
  const all = [
    ...boxes.flatMap((box) => [
      { x: box.x, y: box.y },
      { x: box.x + box.width, y: box.y + box.height },
    ]),
    ...lines.flatMap((line) => line.points),
  ];
  const least = (of: (point: Point) => number) => all.reduce((found, point) => Math.min(found, of(point)), Infinity);
  const x = all.length === 0 ? 0 : least((point) => point.x);
  const y = all.length === 0 ? 0 : least((point) => point.y);
  const shift = <T extends Point>(point: T): T => ({ ...point, x: point.x - x, y: point.y - y });
  return {
    width: all.length === 0 ? 0 : -least((point) => -point.x) - x,
    height: all.length === 0 ? 0 : -least((point) => -point.y) - y,
    boxes: boxes.map(shift),
    lines: lines.map((line) => ({ ...line, points: line.points.map(shift), ...(line.at && { at: shift(line.at) }) })),
  };
}
