import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { Box } from "../../graph/layout.ts";
import { executionTexts } from "../../messages/execution.ts";
import { StateIcon } from "../icons.tsx";
import type { TaskRow } from "./model.ts";
import { kindOf, nodeState } from "./states.ts";

export interface NodeData extends Record<string, unknown> {
  box: Box;
  row: TaskRow | undefined;
  /** It is of a definition, which has no states. */
  plain: boolean;
  /** How many tasks a closed box holds. */
  inside: number | undefined;
  selected: boolean;
  active: boolean;
  select: () => void;
  fold: () => void;
}

/** A task in the picture, a box around tasks, or where a list begins or ends. */
export function GraphNode({ data }: { data: NodeData }) {
  const { box, row, plain, inside, selected, active, select, fold } = data;
  const texts = executionTexts().graph;
  const { node } = box;
  if (!node) {
    return <div className={`graph-${box.kind}`}>{box.kind === "label" ? box.text : texts[partOf(box)]}</div>;
  }
  const { state, words } = plain ? { state: undefined, words: [] } : nodeState(node, row);
  const text = [...words, inside === undefined ? "" : texts.inside(inside), node.detail].filter(Boolean).join(" · ");
  const Chevron = box.kind === "box" ? IconChevronDown : IconChevronRight;
  return (
    <div
      className={`graph-node graph-is-${state ?? (plain ? "plain" : "unreached")}${box.kind === "box" ? " graph-box" : ""}`}
      data-selected={selected || undefined}
    >
      <button
        type="button"
        className="graph-open"
        data-node={box.id}
        tabIndex={active ? 0 : -1}
        aria-pressed={selected}
        title={node.detail ?? node.name}
        onClick={select}
      >
        <span className="graph-title">
          {state !== undefined && <StateIcon state={state} />}
          <strong>{node.name}</strong> <span className="meta">{kindOf(node)}</span>
        </span>
        <span className="graph-text">{text}</span>
      </button>
      {node.container && (
        <button
          type="button"
          className="graph-fold"
          tabIndex={active ? 0 : -1}
          aria-expanded={box.kind === "box"}
          aria-label={texts.fold(node.name)}
          onClick={fold}
        >
          <Chevron aria-hidden size={16} />
        </button>
      )}
    </div>
  );
}

function partOf(box: Box): "start" | "end" | "port" {
  if (box.kind === "start") {
    return "start";
  }
  return box.kind === "exit" || box.width > 20 ? "end" : "port";
}
