import { Button } from "@mantine/core";
import { ReactFlow, ViewportPortal, type Node as Drawn, type ReactFlowInstance } from "@xyflow/react";
import { useEffect, useEffectEvent, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { CoveredTask } from "../../api/tests.ts";
import { layoutGraph, type Box, type Layout } from "../../graph/layout.ts";
import { countInside, type Index } from "../../graph/model.ts";
import { walk, type Arrow } from "../../graph/walk.ts";
import { executionTexts } from "../../messages/execution.ts";
import { GraphNode, type NodeData } from "./GraphNode.tsx";
import type { TaskRow } from "./model.ts";
import "@xyflow/react/dist/base.css";

export interface ViewProps {
  index: Index;
  /** How the tasks of an execution are; undefined: the graph is of a definition. */
  rows: ReadonlyMap<string, TaskRow> | undefined;
  /** What tests have run of a definition; undefined: none have run. */
  covered?: ReadonlyMap<string, CoveredTask> | undefined;
  closed: ReadonlySet<string>;
  selected: string | undefined;
  select: (id: string) => void;
  fold: (id: string) => void;
}

type Shown = Drawn<NodeData>;

const types = { box: GraphNode };
const least = 0.6;
const margin = 16;

/** The graph as a picture that can be moved and made larger. Its layout changes only when boxes open or close. */
export function Canvas({ index, rows, covered, closed, selected, select, fold }: ViewProps) {
  const texts = executionTexts().graph;
  const layout = useMemo(() => layoutGraph(index, closed), [index, closed]);
  const inside = useMemo(() => {
    const held = index.graph.nodes.filter((node) => closed.has(node.id));
    return new Map(held.map((node) => [node.id, countInside(index, node.id)]));
  }, [index, closed]);
  const frame = useRef<HTMLDivElement>(null);
  const [flow, setFlow] = useState<ReactFlowInstance<Shown>>();
  const [moved, setMoved] = useState<string>();
  const known = (id: string | undefined) => layout.boxes.find((box) => box.id === id && box.node);
  const active = (known(moved) ?? known(selected) ?? layout.boxes.find((box) => box.node))?.id;

  const nodes = layout.boxes.map((box) => ({
    id: box.id,
    type: "box",
    position: { x: box.x, y: box.y },
    width: box.width,
    height: box.height,
    data: {
      box,
      row: rows?.get(box.id),
      plain: rows === undefined,
      covered: covered?.get(box.id),
      inside: inside.get(box.id),
      selected: box.id === selected,
      active: box.id === active,
      select: () => {
        setMoved(box.id);
        select(box.id);
      },
      fold: () => fold(box.id),
    },
  }));

  const start = (made: ReactFlowInstance<Shown>) => {
    setFlow(made);
    const { clientWidth: width = 0, clientHeight: height = 0 } = frame.current ?? {};
    const zoom = Math.min(1, Math.max(least, (width - 2 * margin) / layout.width));
    const box = known(selected);
    const below = box && (box.y + box.height) * zoom + margin > height;
    void made.setViewport({
      zoom,
      x: Math.max(margin, (width - layout.width * zoom) / 2),
      y: below ? height / 2 - (box.y + Math.min(box.height, height) / 2) * zoom : margin,
    });
  };

  useEffect(() => {
    const box = known(moved);
    if (!flow || !box) {
      return undefined;
    }
    reveal(flow, box, frame.current);
    // What was outside of the picture is in the page one frame later.
    const later = requestAnimationFrame(() => {
      frame.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(box.id)}"]`)?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(later);
    // Only when a key has moved: the picture does not move by itself.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [moved]);

  // What is in the middle stays there when the pane becomes narrower, for a task beside it, or wider.
  const shift = useEffectEvent((wider: number) => {
    if (flow && wider !== 0) {
      const { x, y, zoom } = flow.getViewport();
      void flow.setViewport({ x: x + wider / 2, y, zoom });
      const box = known(moved);
      if (box) {
        reveal(flow, box, frame.current);
      }
    }
  });
  useEffect(() => {
    const pane = frame.current;
    let width = pane?.clientWidth ?? 0;
    const watch = new ResizeObserver(() => {
      const wider = (pane?.clientWidth ?? 0) - width;
      width += wider;
      shift(wider);
    });
    if (pane) {
      watch.observe(pane);
    }
    return () => watch.disconnect();
  }, []);

  const press = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key === "f") {
      void flow?.fitView({ padding: 0.05 });
    } else if (event.key.startsWith("Arrow") && active !== undefined) {
      const next = walk(index, layout, active, event.key as Arrow);
      if (next !== undefined) {
        setMoved(next);
      }
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    // The buttons inside have the focus; the keys are the same for all.
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions
    <div className="graph" ref={frame} onKeyDown={press}>
      <ReactFlow<Shown>
        aria-label={texts.name}
        nodes={nodes}
        nodeTypes={types}
        onInit={start}
        minZoom={0.05}
        maxZoom={2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        elementsSelectable={false}
        onlyRenderVisibleElements
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        panActivationKeyCode={null}
        zoomActivationKeyCode={null}
        zoomOnScroll={false}
        zoomOnDoubleClick={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
      >
        <ViewportPortal>
          <Lines layout={layout} rows={rows} />
        </ViewportPortal>
      </ReactFlow>
      <div className="graph-zoom">
        <Button size="compact-sm" variant="default" onClick={() => void flow?.zoomIn()}>
          {texts.closer}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => void flow?.zoomOut()}>
          {texts.further}
        </Button>
        <Button size="compact-sm" variant="default" onClick={() => void flow?.fitView({ padding: 0.05 })}>
          {texts.fit}
        </Button>
      </div>
    </div>
  );
}

/** Moves the picture if a box is outside of it. */
function reveal(flow: ReactFlowInstance<Shown>, box: Box, frame: HTMLDivElement | null): void {
  const { x, y, zoom } = flow.getViewport();
  const [left, top] = [box.x * zoom + x, box.y * zoom + y];
  const { clientWidth: width = 0, clientHeight: height = 0 } = frame ?? {};
  const [right, bottom] = [left + Math.min(box.width * zoom, width), top + Math.min(box.height * zoom, height)];
  if (left < 0 || top < 0 || right > width || bottom > height) {
    const middle = box.y + Math.min(box.height, (height / zoom) * 0.8) / 2;
    void flow.setCenter(box.x + box.width / 2, middle, { zoom });
  }
}

/** All lines as one drawing. Those between tasks that have both run are stronger. */
function Lines({ layout, rows }: { layout: Layout; rows: ViewProps["rows"] }) {
  const began = (id: string) => rows !== undefined && (rows.has(id) || id.endsWith(" start"));
  return (
    <svg className="graph-lines" width={layout.width} height={layout.height} aria-hidden>
      <defs>
        <marker
          id="graph-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="9"
          markerHeight="9"
          markerUnits="userSpaceOnUse"
          orient="auto"
        >
          <path d="M0 0 8 4 0 8Z" />
        </marker>
      </defs>
      {layout.lines.map((line) => (
        <g key={line.id} className={line.back || line.kind === "caught" ? "graph-dashed" : undefined}>
          <polyline
            className={began(line.from) && began(line.to) ? "graph-taken" : undefined}
            points={line.points.map((point) => `${point.x},${point.y}`).join(" ")}
            markerEnd="url(#graph-arrow)"
          />
          {line.label !== undefined && line.at && (
            <text x={line.at.x} y={line.at.y}>
              {short(line.back ? `${line.label} ↑` : line.label)}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

const longest = 30;

const short = (text: string) => (text.length > longest ? `${text.slice(0, longest - 1)}…` : text);
