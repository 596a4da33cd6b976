import { useEffect, useEffectEvent } from "react";
import { keysAreOn, typing } from "../keys.ts";

/** What the keys of the inbox do. A key without a function does nothing. */
export interface Acts {
  move?: (step: 1 | -1) => void;
  next?: (() => void) | undefined;
  refresh?: () => void;
  claim?: (() => void) | undefined;
  release?: (() => void) | undefined;
  select?: ((range: boolean) => void) | undefined;
  comment?: (() => void) | undefined;
  /** Chooses an outcome, from 1. */
  choose?: ((number: number) => void) | undefined;
}

/** Keys without Ctrl, outside of fields. */
export function useInboxKeys(acts: Acts): void {
  const act = useEffectEvent((key: string): boolean => {
    const plain = { n: acts.next, r: acts.refresh, c: acts.claim, u: acts.release, m: acts.comment }[key];
    const step = ({ j: 1, k: -1 } as const)[key];
    if (plain) {
      plain();
    } else if ((key === "x" || key === "X") && acts.select) {
      acts.select(key === "X");
    } else if (step !== undefined && acts.move) {
      acts.move(step);
    } else if (/^[1-9]$/.test(key) && acts.choose) {
      acts.choose(Number(key));
    } else {
      return false;
    }
    return true;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || !keysAreOn()) {
        return;
      }
      if (act(event.key)) {
        event.preventDefault();
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}
