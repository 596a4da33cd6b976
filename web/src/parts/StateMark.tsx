import { t } from "../messages/index.ts";
import { StateIcon } from "./icons.tsx";
import type { State } from "./state.ts";

/** A state: icon, word and colour. */
export function StateMark({ state }: { state: State }) {
  return (
    <span className={`state state-${state}`}>
      <StateIcon state={state} />
      {t().states[state]}
    </span>
  );
}
