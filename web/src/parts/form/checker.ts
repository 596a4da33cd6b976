import type { Finding } from "./findings.ts";

/** What a worker is asked: a JSON Schema and a value, as text. */
export interface Asked {
  schema: string;
  value: string;
}

/** What it tells: that it has been loaded, or what it found; undefined: it cannot check by this schema. */
export type Told = "ready" | Finding[] | undefined;

/** After how many milliseconds one check is ended. */
const mostMs = 500;

export interface Checker {
  /** Checks a value. While one is under way, the latest waits, and those before it are dropped. */
  ask: (asked: Asked) => void;
  end: () => void;
}

/**
 * Checks values beside the page: a schema comes from the author of a workflow, and a pattern of it can run without end.
 * A check that takes too long is ended, and nothing is checked after it. The server decides, whatever is found.
 */
export function startChecker(
  tell: (found: Finding[], asked: Asked) => void,
  make: () => Worker = () => new Worker(new URL("check.worker.ts", import.meta.url), { type: "module" }),
): Checker {
  let worker: Worker | undefined = make();
  let ready = false;
  let [under, next]: (Asked | undefined)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    clearTimeout(timer);
    worker?.terminate();
    worker = undefined;
    next = undefined;
  };
  const give = () => {
    if (!ready || under || !next) {
      return;
    }
    [under, next] = [next, undefined];
    timer = setTimeout(end, mostMs);
    // A worker has no origin to name.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker?.postMessage(under);
  };
  worker.addEventListener("error", end);
  worker.addEventListener("message", ({ data }: MessageEvent<Told>) => {
    if (!worker) {
      return; // it was ended
    }
    if (data === "ready") {
      ready = true;
    } else {
      clearTimeout(timer);
      const asked = under;
      under = undefined;
      if (data === undefined) {
        end();
      } else if (asked && !next) {
        tell(data, asked);
      }
    }
    give();
  });
  return {
    ask: (asked) => {
      next = worker && asked;
      give();
    },
    end,
  };
}
