import type { Layout } from "./layout.ts";
import type { Index } from "./model.ts";

export type Arrow = "ArrowDown" | "ArrowUp" | "ArrowLeft" | "ArrowRight";

/** The task that an arrow key leads to: down and up along the lines, left and right beside, into a box and out of it. */
export function walk(index: Index, layout: Layout, id: string, key: Arrow): string | undefined {
  const tasks = new Map(layout.boxes.flatMap((box) => (box.node ? [[box.id, box] as const] : [])));
  const here = tasks.get(id);
  const node = index.nodes.get(id);
  if (!here || !node) {
    return undefined;
  }
  const owner = index.scopes.get(node.scope)?.owner ?? undefined;
  if (key === "ArrowDown") {
    const next = layout.lines.find((line) => line.from === id && !line.back && tasks.has(line.to))?.to;
    return next ?? (owner && walk(index, layout, owner, key));
  }
  if (key === "ArrowUp") {
    return layout.lines.find((line) => line.to === id && !line.back && tasks.has(line.from))?.from ?? owner;
  }
  const inside = index.held.get(id)?.[0]?.nodes[0];
  if (key === "ArrowRight" && inside !== undefined && tasks.has(inside)) {
    return inside;
  }
  const level = [...tasks.values()].filter(
    (box) =>
      index.scopes.get(box.node?.scope ?? "")?.owner === (owner ?? null) &&
      box.y < here.y + here.height &&
      box.y + box.height > here.y,
  );
  const right = level.filter((box) => box.x > here.x).toSorted((a, b) => a.x - b.x)[0];
  const left = level.filter((box) => box.x < here.x).toSorted((a, b) => b.x - a.x)[0];
  return key === "ArrowRight" ? right?.id : (left?.id ?? owner);
}
