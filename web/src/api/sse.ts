import { lookForSession } from "./me.ts";
import { onSession } from "./session.ts";

export interface Stream {
  close: () => void;
}

/** The parts of EventSource that are used, so that tests can give another. */
export interface Source {
  addEventListener: (type: string, listener: (event: MessageEvent<string>) => void) => void;
  close: () => void;
  readonly readyState: number;
}

export interface Wiring {
  open: (address: string) => Source;
  later: (wait: number, then: () => void) => () => void;
  /** Whether the page is not seen. */
  hidden: () => boolean;
  /** Calls back when the page is seen or not any more. */
  onSight: (then: () => void) => () => void;
  /** Calls back when there may be another session. */
  onSession: (then: () => void) => () => void;
  /** Looks whether there is a session, and calls those back if so. */
  lookForSession: () => void;
}

export const browser: Wiring = {
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
  onSession,
  lookForSession: () => void lookForSession(),
};

const closed = 2; // EventSource.CLOSED
const longestWait = 30_000;
/** A page that is not seen lets go of its connection after this time: a browser has six for a server. */
const unseen = 30_000;
/** After so many failures, the page has to ask. */
const mostFailures = 3;

/** A connection as it is wished for. */
export interface Wish {
  /** The address by now. */
  address: () => string;
  types: readonly string[];
  tell: (type: string, data: string) => void;
  /** Called when the stream is not to be relied on any more, and when it is again. */
  health?: ((good: boolean) => void) | undefined;
  /** Called after the last event of the stream, with the reason of its end: nothing else will come. */
  ended?: ((reason: string) => void) | undefined;
}

/**
 * Keeps one connection open while the page is seen, and for a while after it. One that breaks is opened again: by the
 * browser, and after an answer with an error by this function, later each time. After the last event of a stream it
 * stays closed.
 */
export function connect({ address, types, tell, health, ended }: Wish, wiring: Wiring): Stream {
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
      const end = JSON.parse(event.data || "{}") as { reason?: string; reconnect?: boolean };
      over = end.reconnect !== true;
      again();
      if (over) {
        ended?.(end.reason ?? "");
      }
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
