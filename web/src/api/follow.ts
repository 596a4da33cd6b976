import type { Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { browser, connect, type Stream, type Wiring } from "./sse.ts";

/** What a topic is now. All but gone carry what has changed. */
export interface Change {
  topic: string;
  execution?: Schemas["Execution"];
  batch?: Schemas["Batch"];
  gone?: boolean;
}

/** The start or the end of a task. Numbers of an execution have no gaps, but for what the server says is gone. */
export interface TaskEvent {
  seq: number;
  at: string;
  task_seq: number;
  name: string;
  reference: string;
  iterations: number[];
  attempt: number;
  phase: Schemas["TimelineEntry"]["phase"];
  error?: Schemas["ExecutionError"];
}

/** Numbers of events that are not kept any more. */
export interface Gap {
  from: number;
  to: number;
}

/** What follows something. */
interface Follower {
  /** The environment of what it follows. */
  of: string;
  /** What it follows by the stream that all share. */
  topics: readonly string[];
  tell: (type: string, data: unknown) => void;
  /** A new connection begins: what it tells first is how everything is. */
  opened?: () => void;
  health?: ((good: boolean) => void) | undefined;
  /** It follows one execution with its tasks, which the stream that all share does not tell of. */
  alone?: { address: () => string; types: readonly string[] };
}

const mine = "tasks:mine";

/**
 * A stream ends with this reason, and for good, when its session has ended. Whether the browser has another one by now,
 * as after a change of the password, is asked a bit later.
 */
const revoked = "revoked";
const askedAfter = 1000;

/** The stream of some topics. Who follows tasks of people only may have no right to see executions. */
function addressOf(topics: readonly string[], of: string): string {
  if (topics.length === 0) {
    return "";
  }
  const query = new URLSearchParams(topics.map((topic) => ["topic", topic]));
  query.set("environment", of);
  return topics.every((topic) => topic === mine)
    ? `/api/v1/human-tasks/stream?environment=${of}`
    : `/api/v1/stream?${query}`;
}

/**
 * Keeps one connection for all that a page follows: a browser has six for a server. While an execution is followed with
 * its tasks, that is the connection, and the others learn that they have none. When the session ends, all learn that, and
 * the connection is made anew with the next session.
 */
function share(wiring: Wiring) {
  const followers: Follower[] = [];
  const without = new Set<Follower>(); // those that know that there is no stream
  let stream: Stream | undefined;
  let current: Follower | string = ""; // the one that is alone, or the address of the rest

  const drop = (follower: Follower) => {
    if (!without.has(follower)) {
      without.add(follower);
      follower.health?.(false);
    }
  };
  const has = (follower: Follower) => {
    if (without.delete(follower)) {
      follower.health?.(true);
    }
  };
  const tellAll = (together: readonly Follower[], type: string, text: string) => {
    together.forEach(has);
    if (type === "open") {
      together.forEach((each) => each.opened?.());
      return;
    }
    const data = JSON.parse(text) as { topic?: string };
    together.filter((each) => each.topics.includes(data.topic ?? mine)).forEach((each) => each.tell(type, data));
  };
  const update = (anew: boolean) => {
    const of = followers.at(-1)?.of ?? "";
    const alone = followers.findLast((each) => each.alone !== undefined);
    const together = followers.filter((each) => each.alone === undefined && each.of === of);
    const topics = [...new Set(together.flatMap((each) => each.topics))];
    const next = alone ?? addressOf(topics, of);
    if (alone) {
      together.forEach(drop);
    }
    if (next === current && (alone !== undefined || !anew)) {
      return;
    }
    current = next;
    stream?.close();
    stream = undefined;
    if (alone?.alone) {
      const wish = {
        ...alone.alone,
        tell: (type: string, text: string) => {
          has(alone);
          alone.tell(type, JSON.parse(text));
        },
        health: alone.health,
        ended(reason: string) {
          if (reason === revoked) {
            drop(alone);
            wiring.later(askedAfter, wiring.lookForSession);
            return;
          }
          delete alone.alone; // the others have the connection again
          alone.topics = [];
          update(true);
        },
      };
      stream = connect(wish, wiring);
    } else if (typeof next === "string" && next !== "") {
      // One of them may be closed while the others need the same stream.
      const still = () => together.filter((each) => followers.includes(each));
      const wish = {
        address: () => next,
        types: ["open", "execution", "batch", "gone", "tasks"],
        tell: (type: string, text: string) => tellAll(still(), type, text),
        health: (good: boolean) => (good ? undefined : still().forEach(drop)),
        ended(reason: string) {
          current = ""; // the next that joins, and the next session, open it again
          still().forEach(drop);
          if (reason === revoked) {
            wiring.later(askedAfter, wiring.lookForSession);
          }
        },
      };
      stream = connect(wish, wiring);
    }
  };
  wiring.onSession(() => {
    current = "";
    update(true);
  });
  return (follower: Follower): Stream => {
    followers.push(follower);
    update(true);
    return {
      close() {
        const at = followers.indexOf(follower);
        if (at >= 0) {
          followers.splice(at, 1);
          without.delete(follower);
          update(false);
        }
      },
    };
  };
}

const shared = new WeakMap<Wiring, ReturnType<typeof share>>();

function join(follower: Follower, wiring: Wiring): Stream {
  const joins = shared.get(wiring) ?? share(wiring);
  shared.set(wiring, joins);
  return joins(follower);
}

/** Follows executions and batches (`execution:ID`, `batch:ID`). It begins with how they are: nothing is missed. */
export function follow(
  topics: readonly string[],
  tell: (change: Change) => void,
  health?: (good: boolean) => void,
  wiring: Wiring = browser,
): Stream {
  return join(
    {
      of: environment(),
      topics,
      tell: (type, data) => tell(type === "gone" ? { ...(data as Change), gone: true } : (data as Change)),
      health,
    },
    wiring,
  );
}

/** What a stream says of the human tasks of the person. */
export interface TaskNews {
  counts: Schemas["HumanTaskCounts"];
  /** Those that are new or have changed; in the first news of a connection all that it tells of one by one. */
  changed: Schemas["HumanTask"][];
  /** Ids of those that are not among them any more. */
  removed: string[];
  more: boolean;
}

/** Follows the human tasks of the person. First says that nothing of the news before counts any more. */
export function followTasks(
  tell: (news: TaskNews, first: boolean) => void,
  health?: (good: boolean) => void,
  wiring: Wiring = browser,
): Stream {
  let first = true;
  return join(
    {
      of: environment(),
      topics: [mine],
      opened() {
        first = true;
      },
      tell(_, data) {
        const { tasks } = data as { tasks?: TaskNews }; // a stream of several topics says which one it tells of
        tell(tasks ?? (data as TaskNews), first);
        first = false;
      },
      health,
    },
    wiring,
  );
}

/** What a stream says of an execution and its tasks. */
export interface Told {
  execution?: Schemas["Execution"];
  task?: TaskEvent;
  gap?: Gap;
}

/** Follows an execution and its tasks, which begin after a number. Nothing is missed or comes twice. */
export function followExecution(
  id: string,
  after: number,
  tell: (told: Told) => void,
  health?: (good: boolean) => void,
  wiring: Wiring = browser,
): Stream {
  let last = after;
  const of = environment();
  return join(
    {
      of,
      topics: [],
      alone: {
        address: () => `/api/v1/executions/${id}/events?environment=${of}&after=${last}`,
        types: ["execution", "task.started", "task.ended", "gap"],
      },
      tell(type, data) {
        if (type === "execution") {
          tell({ execution: data as Schemas["Execution"] });
        } else if (type === "gap") {
          const gap = data as Gap;
          last = gap.to;
          tell({ gap });
        } else {
          const task = data as TaskEvent;
          last = task.seq;
          tell({ task });
        }
      },
      health,
    },
    wiring,
  );
}
