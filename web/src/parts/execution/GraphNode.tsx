import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { CoveredTask } from "../../api/tests.ts";
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
  covered: CoveredTask | undefined;
  /** How many tasks a closed box holds. */
  inside: number | undefined;
  selected: boolean;
  active: boolean;
  select: () => void;
  fold: () => void;
}

/** A task in the picture, a box around tasks, or where a list begins or ends. */
export function GraphNode({ data }: { data: NodeData }) {
  const { box, row, plain, covered, inside, selected, active, select, fold } = data;
  const texts = executionTexts().graph;
  const { node } = box;
  if (!node) {
    return <div className={`graph-${box.kind}`}>{box.kind === "label" ? box.text : texts[partOf(box)]}</div>;
  }
  const { state, words } = plain ? { state: undefined, words: [] } : nodeState(node, row);
  const text = [
    ...words,
    covered && coveredText(covered),
    inside === undefined ? "" : texts.inside(inside),
    node.detail,
  ]
    .filter(Boolean)
    .join(" · ");
  const Chevron = box.kind === "box" ? IconChevronDown : IconChevronRight;
  return (
    <div
      className={`graph-node graph-is-${state ?? (plain ? coveredClass(covered) : "unreached")}${box.kind === "box" ? " graph-box" : ""}`}
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

function coveredClass(task: CoveredTask | undefined): "plain" | "covered" | "partly" | "missed" {
  if (!task) {
    return "plain";
  }
  if (task.hits === 0) {
    return "missed";
  }
  return task.branches.some((branch) => branch.hits === 0) ? "partly" : "covered";
}

/** How often tests have run a task, and which of its ways none has taken. */
export function coveredText({ hits, branches }: CoveredTask): string {
  const missed = branches.filter((branch) => branch.hits === 0).map((branch) => branch.name);
  return executionTexts().graph.covered(hits, missed);
}

function partOf(box: Box): "start" | "end" | "port" {
  if (box.kind === "start") {
    return "start";
  }
  return box.kind === "exit" || box.width > 20 ? "end" : "port";
}
