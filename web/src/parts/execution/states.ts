import { formatNumber } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { executionTexts } from "../../messages/execution.ts";
import type { Node } from "../../graph/model.ts";
import type { State } from "../state.ts";
import { countRuns, stateOfTask, type TaskRow } from "./model.ts";

/** How a task of the graph is, if it was reached, and the same in words, with its runs and attempts. */
export function nodeState(node: Node, row: TaskRow | undefined): { state: State | undefined; words: string[] } {
  const texts = executionTexts();
  if (!row) {
    return { state: undefined, words: [texts.graph.notReached] };
  }
  const found = stateOfTask(row);
  const state = node.human && found === "waiting" ? "person" : found;
  const { counts } = row;
  const words =
    countRuns(row) > 1
      ? (["faulted", "running", "waiting", "cancelled", "completed"] as const)
          .filter((phase) => counts[phase] > 0)
          .map((phase) => `${formatNumber(counts[phase])} ${t().states[stateOfTask({ phase })]}`)
      : [t().states[state]];
  return { state, words: row.attempts > 1 ? [...words, texts.timeline.attempts(row.attempts)] : words };
}

/** What a task is, in the words of the definition. */
export const kindOf = (node: Node): string => (node.type === undefined ? node.kind : `${node.kind} ${node.type}`);
