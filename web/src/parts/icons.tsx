import {
  IconAlertOctagon,
  IconBan,
  IconCircle,
  IconCircleCheck,
  IconClock,
  IconPlayerPause,
  IconProgress,
  IconUser,
} from "@tabler/icons-react";
import type { State } from "./state.ts";

const ofState = {
  queued: IconCircle,
  running: IconProgress,
  waiting: IconClock,
  person: IconUser,
  finished: IconCircleCheck,
  error: IconAlertOctagon,
  cancelled: IconBan,
  suspended: IconPlayerPause,
} satisfies Record<State, unknown>;

/** The icon of a state. It always stands beside the word, so that it says nothing to a screen reader. */
export function StateIcon({ state, size = 16 }: { state: State; size?: number }) {
  const Icon = ofState[state];
  return <Icon aria-hidden size={size} stroke={2} className={`state-${state}`} />;
}
