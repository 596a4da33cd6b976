import type { Schemas } from "./client.ts";
import { environment } from "./environment.ts";

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

export interface Stream {
  close: () => void;
}

/** The parts of EventSource that are used, so that tests can give another. */
export interface Source {
  addEventListener: (type: string, listener: (event: MessageEvent<string>) => void) => void;
  close: () => void;
  readonly readyState: number;
}

interface Wiring {
  open: (address: string) => Source;
  later: (wait: number, then: () => void) => () => void;
  /** Whether the page is not seen. */
  hidden: () => boolean;
  /** Calls back when the page is seen or not any more. */
  onSight: (then: () => void) => () => void;
}

const browser: Wiring = {
  open: (address) => new EventSource(address),
  later(wait, then) {
    const timer = setTimeout(then, wait);
    return () => clearTimeout(timer);
  },
  hidden: () => document.visibilityState === "hidden",
  onSight(then) {
    document.addEventListener("visibilitychange", then);
    return () => document.removeEventListener("visibilitychange", then);
  },
};

const closed = 2; // EventSource.CLOSED
const longestWait = 30_000;
/** A page that is not seen lets go of its connection after this time: a browser has six for a server. */
const unseen = 30_000;
/** After so many failures, the page has to ask. */
const mostFailures = 3;

interface Wish {
  /** The address by now. */
  address: () => string;
  types: readonly string[];
  tell: (type: string, data: string) => void;
  /** Called when the stream is not to be relied on any more, and when it is again. */
  health?: ((good: boolean) => void) | undefined;
}

/**
 * Keeps one connection open while the page is seen, and for a while after it. One that breaks is opened again: by the
 * browser, and after an answer with an error by this function, later each time. After the last event of a stream it
 * stays closed.
 */
function connect({ address, types, tell, health }: Wish, wiring: Wiring): Stream {
  let source: Source | undefined;
  let cancel: (() => void) | undefined;
  let failures = 0; // in a row
  let refused = 0; // of them those that this function opens again
  let over = false;

  const close = () => {
    cancel?.();
    source?.close();
    source = undefined;
  };
  const failed = () => {
    failures++;
    if (failures === mostFailures) {
      health?.(false);
    }
  };
  const again = () => {
    close();
    if (!over && !wiring.hidden()) {
      cancel = wiring.later(Math.min(1000 * 2 ** Math.max(0, refused - 1), longestWait), open);
    }
  };
  const open = () => {
    const opened = wiring.open(address());
    source = opened;
    for (const type of types) {
      opened.addEventListener(type, (event) => {
        if (failures >= mostFailures) {
          health?.(true);
        }
        failures = 0;
        refused = 0;
        tell(type, event.data);
      });
    }
    opened.addEventListener("end", (event) => {
      over = !(JSON.parse(event.data || "{}") as { reconnect?: boolean }).reconnect;
      again();
    });
    opened.addEventListener("error", () => {
      if (source !== opened) {
        return;
      }
      failed();
      if (opened.readyState === closed) {
        refused++;
        again();
      } // else the browser tries again
    });
  };
  const look = () => {
    if (over) {
      return;
    }
    cancel?.();
    if (wiring.hidden()) {
      cancel = wiring.later(unseen, close);
    } else if (source === undefined) {
      open();
    }
  };
  const stop = wiring.onSight(look);
  look();
  return {
    close() {
      over = true;
      stop();
      close();
    },
  };
}

/**
 * Follows executions and batches (`execution:ID`, `batch:ID`) with one connection. It begins with how everything is, so
 * that nothing is missed.
 */
export function follow(topics: readonly string[], tell: (change: Change) => void, wiring: Wiring = browser): Stream {
  const query = new URLSearchParams(topics.map((topic) => ["topic", topic]));
  query.set("environment", environment());
  return connect(
    {
      address: () => `/api/v1/stream?${query}`,
      types: ["execution", "batch", "gone"],
      tell(type, data) {
        const change = JSON.parse(data) as Change;
        tell(type === "gone" ? { ...change, gone: true } : change);
      },
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
  const of = environment();
  let first = true;
  return connect(
    {
      address: () => `/api/v1/human-tasks/stream?environment=${of}`,
      types: ["open", "tasks"],
      tell(type, data) {
        if (type === "open") {
          first = true;
          return;
        }
        tell(JSON.parse(data) as TaskNews, first);
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
  return connect(
    {
      address: () => `/api/v1/executions/${id}/events?environment=${of}&after=${last}`,
      types: ["execution", "task.started", "task.ended", "gap"],
      tell(type, data) {
        if (type === "execution") {
          tell({ execution: JSON.parse(data) as Schemas["Execution"] });
        } else if (type === "gap") {
          const gap = JSON.parse(data) as Gap;
          last = gap.to;
          tell({ gap });
        } else {
          const task = JSON.parse(data) as TaskEvent;
          last = task.seq;
          tell({ task });
        }
      },
      health,
    },
    wiring,
  );
}
