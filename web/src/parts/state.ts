import type { Schemas } from "../api/client.ts";

/** How an execution or task is, in the words of the UI. */
export const states = [
  "queued",
  "running",
  "waiting",
  "person",
  "finished",
  "error",
  "cancelled",
  "suspended",
] as const;
export type State = (typeof states)[number];

type Phase = Schemas["Execution"]["phase"];

const ofPhase: Record<Phase, State> = {
  pending: "queued",
  running: "running",
  waiting: "waiting",
  suspended: "suspended",
  cancelled: "cancelled",
  faulted: "error",
  completed: "finished",
};

export function stateOf(execution: Pick<Schemas["Execution"], "phase" | "status" | "waiting_for">): State {
  const waitsForPerson = execution.status === "human_in_the_loop" || execution.waiting_for?.kind === "person";
  return waitsForPerson && execution.phase === "waiting" ? "person" : ofPhase[execution.phase];
}

/** Phases of the API that a state stands for. */
export const phaseOf: Record<Exclude<State, "person">, Phase> = {
  queued: "pending",
  running: "running",
  waiting: "waiting",
  suspended: "suspended",
  cancelled: "cancelled",
  error: "faulted",
  finished: "completed",
};

/** A final state never changes. */
export const isFinal = (state: State): boolean => ["finished", "error", "cancelled"].includes(state);

/** States that an item of a batch can be filtered by. */
export type ItemState = Exclude<State, "person" | "suspended">;
export const itemStates: readonly ItemState[] = ["queued", "running", "waiting", "finished", "error", "cancelled"];
