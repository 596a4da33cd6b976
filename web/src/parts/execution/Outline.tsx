import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { outline, type Edge, type Index } from "../../graph/model.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import { StateMark } from "../StateMark.tsx";
import type { ViewProps } from "./Canvas.tsx";
import { coveredText } from "./GraphNode.tsx";
import { kindOf, nodeState } from "./states.ts";

const rowHeight = 48;

/** The graph as a tree of tasks that says where each leads: what the picture shows, for all who cannot use it. */
export function Outline({ index, rows, covered, closed, selected, select, fold }: ViewProps) {
  const lines = useMemo(() => outline(index, closed), [index, closed]);
  const box = useRef<HTMLDivElement>(null);
  const [moved, setMoved] = useState<string>();
  const place = (id: string | undefined) => lines.findIndex((line) => line.node.id === id);
  const at = Math.max(0, moved === undefined ? place(selected) : place(moved));
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  const press = (event: KeyboardEvent) => {
    const line = lines[at];
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key];
    if (to !== undefined) {
      const next = Math.min(lines.length - 1, Math.max(0, to));
      setMoved(lines[next]?.node.id);
      virtual.scrollToIndex(next);
    } else if (event.key === "Enter" && line) {
      select(line.node.id);
    } else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && line) {
      if (line.node.container && closed.has(line.node.id) === (event.key === "ArrowRight")) {
        fold(line.node.id);
      }
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      className="timeline"
      role="tree"
      aria-label={executionTexts().graph.name}
      aria-activedescendant={`line-${at}`}
      tabIndex={0}
      onKeyDown={press}
    >
      <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const line = lines[item.index];
          if (!line) {
            return undefined;
          }
          const { node } = line;
          const { state, words } = rows ? nodeState(node, rows.get(node.id)) : { state: undefined, words: [] };
          const run = covered?.get(node.id);
          const Chevron = closed.has(node.id) ? IconChevronRight : IconChevronDown;
          return (
            // Keys are those of the tree, which has the focus.
            // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
            <div
              key={node.id}
              id={`line-${item.index}`}
              className="timeline-row outline-row"
              role="treeitem"
              aria-level={line.depth + 1}
              aria-selected={node.id === selected}
              {...(node.container && { "aria-expanded": !closed.has(node.id) })}
              data-active={item.index === at || undefined}
              style={{ transform: `translateY(${item.start}px)`, paddingLeft: 8 + line.depth * 16 }}
              onClick={() => {
                setMoved(node.id);
                select(node.id);
              }}
            >
              <span className="outline-line">
                {node.container ? (
                  <span
                    className="fold"
                    aria-hidden
                    onClick={(event) => {
                      event.stopPropagation();
                      fold(node.id);
                    }}
                  >
                    <Chevron aria-hidden size={14} />
                  </span>
                ) : (
                  <span className="fold" />
                )}
                <strong>{node.name}</strong> <span className="meta">{kindOf(node)}</span>{" "}
                {state === undefined ? <span className="meta">{words}</span> : <StateMark state={state} />}
              </span>
              <span className="outline-more meta">
                {[
                  line.heading,
                  run && coveredText(run),
                  ...words.filter((word) => state !== undefined && word !== t().states[state]),
                  node.detail,
                  ...line.ways.map((way) => wayText(index, way)),
                ]
                  .filter(Boolean)
                  .join(" · ")}
              </span>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function wayText(index: Index, way: Edge): string {
  const texts = executionTexts().graph;
  const to = way.to === null ? undefined : (index.nodes.get(way.to)?.name ?? way.to);
  return texts.way(way.label ?? "", to ?? (way.leaves === "workflow" ? texts.endOfAll : texts.endOfList));
}
