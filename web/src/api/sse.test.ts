import { expect, test } from "vitest";
import { follow, type Change, type Source } from "./sse.ts";

/** A connection that the test breaks and fills. */
class Fake implements Source {
  readyState = 1;
  readonly address: string;
  readonly #listeners = new Map<string, ((event: MessageEvent<string>) => void)[]>();

  constructor(address: string) {
    this.address = address;
  }

  addEventListener(type: string, listener: (event: MessageEvent<string>) => void): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  close(): void {
    this.readyState = 2;
  }

  send(type: string, data = ""): void {
    this.#listeners.get(type)?.forEach((listener) => listener({ data } as MessageEvent<string>));
  }

  break(readyState: number): void {
    this.readyState = readyState;
    this.send("error");
  }
}

function start() {
  const sources: Fake[] = [];
  const waits: { wait: number; next: () => void }[] = [];
  const changes: Change[] = [];
  let tell: ((seen: boolean) => void) | undefined;
  const stream = follow(["execution:1", "batch:2"], (change) => changes.push(change), {
    open(address) {
      const source = new Fake(address);
      sources.push(source);
      return source;
    },
    later(wait, next) {
      waits.push({ wait, next });
      return () => void waits.splice(0);
    },
    seen(then) {
      tell = then;
      then(true);
      return () => (tell = undefined);
    },
  });
  return { sources, waits, changes, stream, see: (seen: boolean) => tell?.(seen) };
}

test("one connection has all topics and the environment", () => {
  const { sources } = start();
  expect(sources.map((s) => s.address)).toEqual([
    "/api/v1/stream?topic=execution%3A1&topic=batch%3A2&environment=live",
  ]);
});

test("changes arrive, and what is deleted is marked", () => {
  const { sources, changes } = start();
  sources[0]?.send("execution", '{"topic":"execution:1","execution":{"status":"processing"}}');
  sources[0]?.send("gone", '{"topic":"batch:2"}');
  expect(changes).toEqual([
    { topic: "execution:1", execution: { status: "processing" } },
    { topic: "batch:2", gone: true },
  ]);
});

test("a broken connection is left to the browser, a refused one is opened later and later", () => {
  const { sources, waits } = start();
  sources[0]?.break(0);
  expect(waits).toEqual([]);
  for (const wait of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]) {
    sources.at(-1)?.break(2);
    expect(waits.at(-1)?.wait).toBe(wait);
    waits.at(-1)?.next();
  }
  expect(sources).toHaveLength(8);
  sources.at(-1)?.send("execution", '{"topic":"execution:1"}');
  sources.at(-1)?.break(2);
  expect(waits.at(-1)?.wait).toBe(1000);
});

test("after the last event, and after it was closed, nothing is opened again", () => {
  const { sources, waits, stream } = start();
  sources[0]?.send("end");
  expect(sources[0]?.readyState).toBe(2);
  stream.close();
  sources[0]?.break(2);
  expect(waits).toEqual([]);
});

test("a hidden page has no connection, and gets one again when it is seen", () => {
  const { sources, see, stream } = start();
  see(false);
  expect(sources[0]?.readyState).toBe(2);
  see(true);
  expect(sources).toHaveLength(2);
  sources[1]?.send("end");
  see(false);
  see(true);
  stream.close();
  see(true);
  expect(sources).toHaveLength(2);
});
