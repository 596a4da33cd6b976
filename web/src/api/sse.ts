import { environment } from "./environment.ts";
import type { Schemas } from "./client.ts";

/** What a topic is now. All but gone carry what has changed. */
export interface Change {
  topic: string;
  execution?: Schemas["Execution"];
  batch?: Schemas["Batch"];
  gone?: boolean;
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
  /** Tells whether the page is seen, now and whenever that changes, until the function that it returns is called. */
  seen: (tell: (seen: boolean) => void) => () => void;
}

const browser: Wiring = {
  open: (address) => new EventSource(address),
  later(wait, then) {
    const timer = setTimeout(then, wait);
    return () => clearTimeout(timer);
  },
  seen(tell) {
    const look = () => tell(!document.hidden);
    document.addEventListener("visibilitychange", look);
    look();
    return () => document.removeEventListener("visibilitychange", look);
  },
};

const closed = 2; // EventSource.CLOSED
const longestWait = 30_000;

/**
 * Follows executions and batches (`execution:ID`, `batch:ID`) with one connection. A connection that breaks is opened
 * again, by the browser, and after an answer with an error by this function, later each time. The stream begins with
 * how everything is, so that nothing is missed. After its last event it stays closed. A hidden page has no connection.
 */
export function follow(topics: readonly string[], tell: (change: Change) => void, wiring: Wiring = browser): Stream {
  const query = new URLSearchParams(topics.map((topic) => ["topic", topic]));
  query.set("environment", environment());
  let source: Source | undefined;
  let cancel: (() => void) | undefined;
  let failures = 0;
  let ended = false;

  const open = () => {
    const opened = wiring.open(`/api/v1/stream?${query}`);
    source = opened;
    for (const type of ["execution", "batch", "gone"]) {
      opened.addEventListener(type, (event) => {
        failures = 0;
        const change = JSON.parse(event.data) as Change;
        tell(type === "gone" ? { ...change, gone: true } : change);
      });
    }
    opened.addEventListener("end", () => {
      ended = true;
      opened.close();
    });
    opened.addEventListener("error", () => {
      if (opened.readyState !== closed || source !== opened) {
        return; // the browser tries again
      }
      failures++;
      cancel = wiring.later(Math.min(1000 * 2 ** (failures - 1), longestWait), open);
    });
  };
  const close = () => {
    cancel?.();
    cancel = undefined;
    source?.close();
    source = undefined;
  };
  const forget = wiring.seen((seen) => {
    close();
    if (seen && !ended) {
      open();
    }
  });
  return {
    close() {
      forget();
      close();
    },
  };
}
