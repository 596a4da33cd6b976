import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { progressQuestion, type Task } from "../../api/detail.ts";
import { environment } from "../../api/environment.ts";
import { executionQuestion, type Execution } from "../../api/executions.ts";
import { followExecution, type Gap, type TaskEvent } from "../../api/follow.ts";
import { sessionHasEnded } from "../../api/session.ts";
import type { Stream } from "../../api/sse.ts";
import { isFinal, stateOf } from "../state.ts";
import { countRuns } from "./model.ts";

/** What is known to have happened to the tasks of an execution, in its order. */
export type Fact = { task: TaskEvent } | { gap: Gap };

/** How many facts a page keeps. */
export const mostFacts = 20_000;

/** What is shown changes four times a second at most, and the server is asked once a second at most. */
const drawn = 250;
const asked = 1000;
/** How often everything is asked for while there is no stream, and the page is seen. */
const polled = 5000;

/**
 * Follows an execution while it runs: its row and its tasks come by one stream, and what is drawn of the tasks is asked
 * for after they have changed. With whole, all facts are read from the first one on, also of one that has ended. While
 * there is no stream, everything is asked for every 5 seconds.
 */
export function useLive(id: string, execution: Execution | undefined, whole: boolean): readonly Fact[] {
  const queries = useQueryClient();
  const [facts, setFacts] = useState<readonly Fact[]>([]);
  const following = isRunning(execution) || (whole && execution !== undefined);
  useEffect(() => {
    if (!following) {
      return undefined;
    }
    const own = executionQuestion(id).queryKey;
    const below = [environment(), "execution", id];
    const found: Fact[] = [];
    let drawing: ReturnType<typeof setTimeout> | undefined;
    let asking: ReturnType<typeof setTimeout> | undefined;
    let polling: ReturnType<typeof setInterval> | undefined;
    let stream: Stream | undefined;
    let gone = false;
    const askTasks = () => {
      asking ??= setTimeout(() => {
        asking = undefined;
        void queries.invalidateQueries({ queryKey: below, predicate: ({ queryKey }) => queryKey.length > 3 });
      }, asked);
    };
    const askAll = () => {
      if (document.visibilityState === "visible" && !sessionHasEnded()) {
        void queries.invalidateQueries({ queryKey: below });
      }
    };
    const keep = (fact: Fact) => {
      found.push(fact);
      drawing ??= setTimeout(() => {
        drawing = undefined;
        found.splice(0, found.length - mostFacts);
        setFacts([...found]);
      }, drawn);
    };
    const begin = (after: number) => {
      if (gone) {
        return;
      }
      stream = followExecution(
        id,
        after,
        ({ execution: now, task, gap }) => {
          if (now) {
            const before = queries.getQueryData(own);
            queries.setQueryData(own, (old) => old && renewed(old, now));
            if (isFinal(stateOf(now))) {
              void queries.invalidateQueries({ queryKey: below });
            } else if (before && (before.phase !== now.phase || before.status !== now.status)) {
              askTasks();
            }
          } else if (isRunning(queries.getQueryData(own))) {
            askTasks();
          }
          if (whole && task) {
            keep({ task });
          } else if (whole && gap) {
            keep({ gap });
          }
        },
        (good) => {
          clearInterval(polling);
          polling = good ? undefined : setInterval(askAll, polled);
        },
      );
    };
    if (whole) {
      begin(0);
    } else {
      void queries.ensureQueryData(progressQuestion(id)).then(
        ({ data }) => begin(countEvents(data)),
        () => begin(0),
      );
    }
    return () => {
      gone = true;
      clearTimeout(drawing);
      clearTimeout(asking);
      clearInterval(polling);
      stream?.close();
      setFacts([]);
    };
  }, [id, following, whole, queries]);
  return facts;
}

const isRunning = (execution: Execution | undefined): boolean =>
  execution !== undefined && !isFinal(stateOf(execution));

/** How many events the runs of tasks have been at least: a start each, and an end of those that have one. */
export const countEvents = (tasks: readonly Pick<Task, "counts">[]): number =>
  tasks.reduce((sum, task) => sum + 2 * countRuns(task) - task.counts.running - task.counts.waiting, 0);

/**
 * An execution as the stream tells of it, with what only its own address has, such as its input. What it does not wait for
 * any more, the stream leaves out.
 */
export function renewed(old: Execution, now: Execution): Execution {
  const { waiting_for: _, attempting: _attempting, human_tasks: _tasks, ...kept } = old;
  return { ...kept, ...now };
}
