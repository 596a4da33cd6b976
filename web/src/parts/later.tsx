import { use, useEffect, useReducer, type ComponentType, type ReactNode } from "react";
import { isLost, onReturn, reachable } from "../api/connection.ts";
import { Problem } from "../api/problem.ts";
import { withTexts } from "../messages/index.ts";
import { put } from "./kept.ts";
import { Failure } from "./Notice.tsx";

export interface BrokenProps {
  error: unknown;
  reset: () => void;
}

/**
 * A part of the UI whose script and texts come when it is shown. If the server cannot be reached, that is said in its
 * place, and the rest of the page stays. A script that is gone, after an upgrade of the server, loads the page again,
 * once.
 */
export function later<P extends object>(
  load: () => Promise<{ default: ComponentType<P> }>,
  Broken: ComponentType<BrokenProps> = Notice,
): ((props: P) => ReactNode) & { preload: () => Promise<void> } {
  let Part: ComponentType<P> | undefined;
  let error: unknown;
  let loading: Promise<void> | undefined;
  const fetch = async () => {
    try {
      Part = (await withTexts(load())).default;
    } catch (failure) {
      error = (await reachable()) ? failure : Problem.unreachable();
    }
  };
  const start = () => (loading ??= fetch());
  const forget = () => {
    error = undefined;
    loading = undefined;
  };
  const preload = () => {
    if (error !== undefined) {
      forget();
    }
    return start();
  };
  function Later(props: P) {
    const [, again] = useReducer((n: number) => n + 1, 0);
    if (!Part) {
      use(start());
    }
    if (Part) {
      return <Part {...props} />;
    }
    const reset = () => {
      forget();
      again();
    };
    return <Absent error={error} reset={reset} Broken={Broken} />;
  }
  return Object.assign(Later, { preload });
}

function Absent({ error, reset, Broken }: BrokenProps & { Broken: ComponentType<BrokenProps> }) {
  const gone = !(error instanceof Problem) && !reloadedLately();
  useEffect(() => {
    if (gone) {
      put(mark, String(Date.now()));
      location.reload();
    }
    if (error instanceof Problem && !isLost()) {
      reset(); // the server has come back before this was shown, and will not do it again
      return undefined;
    }
    return onReturn(reset);
  });
  return gone ? null : <Broken error={error} reset={reset} />;
}

const mark = "chargehand-reloaded";
const reloadedLately = () => Date.now() - Number(sessionStorage.getItem(mark) ?? 0) < 60_000;

const Notice = ({ error, reset }: BrokenProps) => <Failure error={error} retry={reset} />;
