import { expect, test } from "vitest";
import { follow, followExecution, followTasks, type Change } from "./follow.ts";
import type { Source } from "./sse.ts";

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

function wire() {
  const sources: Fake[] = [];
  const waits: { wait: number; next: () => void }[] = [];
  const page = { hidden: false, look: () => {}, signIn: () => {}, looked: 0 };
  const wiring = {
    open(address: string) {
      const source = new Fake(address);
      sources.push(source);
      return source;
    },
    later(wait: number, next: () => void) {
      waits.push({ wait, next });
      return () => void waits.splice(0);
    },
    hidden: () => page.hidden,
    onSight(then: () => void) {
      page.look = then;
      return () => {
        page.look = () => {};
      };
    },
    onSession(then: () => void) {
      page.signIn = then;
      return () => {};
    },
    lookForSession: () => void page.looked++,
  };
  const see = (seen: boolean) => {
    page.hidden = !seen;
    page.look();
  };
  return { sources, waits, see, wiring, page, signIn: () => page.signIn() };
}

function start(seen = true) {
  const wired = wire();
  wired.see(seen);
  const changes: Change[] = [];
  const stream = follow(["execution:1", "batch:2"], (change) => changes.push(change), undefined, wired.wiring);
  return { ...wired, changes, stream };
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

test("a server that stops is asked again", () => {
  const { sources, waits } = start();
  sources[0]?.send("end", '{"reason":"stopping","reconnect":true}');
  expect(sources[0]?.readyState).toBe(2);
  waits.at(-1)?.next();
  expect(sources).toHaveLength(2);
  sources[1]?.send("end", '{"reason":"final","reconnect":false}');
  expect(waits).toEqual([]);
});

test("a page that is not seen lets go of its connection, and has it again when it is seen", () => {
  const { sources, waits, see } = start();
  see(false);
  expect(waits.at(-1)?.wait).toBe(30_000);
  see(true);
  expect(waits).toEqual([]);
  expect(sources[0]?.readyState).toBe(1);
  see(false);
  waits.at(-1)?.next();
  expect(sources[0]?.readyState).toBe(2);
  see(true);
  expect(sources).toHaveLength(2);
});

test("a page that is opened in the background has a connection when it is seen", () => {
  const { sources, see } = start(false);
  expect(sources).toEqual([]);
  see(true);
  expect(sources).toHaveLength(1);
});

test("an execution is followed from the last number, and the page learns when it has to ask", () => {
  const { sources, waits, wiring } = wire();
  const changes: unknown[] = [];
  const health: boolean[] = [];
  followExecution(
    "7",
    4,
    (one) => changes.push(one),
    (good) => health.push(good),
    wiring,
  );
  expect(sources[0]?.address).toBe("/api/v1/executions/7/events?environment=live&after=4");
  sources[0]?.send("task.started", '{"seq":5}');
  sources[0]?.send("gap", '{"from":6,"to":8}');
  expect(changes).toEqual([{ task: { seq: 5 } }, { gap: { from: 6, to: 8 } }]);
  for (let failures = 0; failures < 4; failures++) {
    sources.at(-1)?.break(2);
    waits.at(-1)?.next();
  }
  expect(sources.at(-1)?.address).toContain("after=8");
  expect(health).toEqual([false]);
  sources.at(-1)?.send("execution", "{}");
  expect(health).toEqual([false, true]);
});

test("the first news of each connection stands for all that there is", () => {
  const { sources, waits, wiring } = wire();
  const news: unknown[] = [];
  followTasks(({ removed }, first) => news.push([removed, first]), undefined, wiring);
  expect(sources[0]?.address).toBe("/api/v1/human-tasks/stream?environment=live");
  const tell = (id: string) => sources.at(-1)?.send("tasks", JSON.stringify({ removed: [id] }));
  sources[0]?.send("open");
  tell("1");
  tell("2");
  sources[0]?.break(0); // the browser connects again
  sources[0]?.send("open");
  tell("3");
  sources[0]?.send("end", '{"reason":"stopping","reconnect":true}');
  waits.at(-1)?.next();
  sources[1]?.send("open");
  tell("4");
  expect(news).toEqual([
    [["1"], true],
    [["2"], false],
    [["3"], true],
    [["4"], true],
  ]);
});

test("all that a page follows comes by one connection", () => {
  const { sources, wiring } = wire();
  const news: string[] = [];
  const changes: string[] = [];
  followTasks(({ removed }, first) => news.push(`${removed.join()} ${first}`), undefined, wiring);
  const batch = follow(["batch:2"], ({ topic }) => changes.push(topic), undefined, wiring);
  const open = () => sources.filter((source) => source.readyState !== 2).map((source) => source.address);
  expect(open()).toEqual(["/api/v1/stream?topic=tasks%3Amine&topic=batch%3A2&environment=live"]);
  sources.at(-1)?.send("open");
  sources.at(-1)?.send("tasks", '{"topic":"tasks:mine","tasks":{"removed":["1"]}}');
  sources.at(-1)?.send("batch", '{"topic":"batch:2"}');
  expect([news, changes]).toEqual([["1 true"], ["batch:2"]]);
  batch.close();
  expect(open()).toEqual(["/api/v1/human-tasks/stream?environment=live"]);
  sources.at(-1)?.send("tasks", '{"removed":["2"]}');
  expect([news, changes]).toEqual([["1 true", "2 false"], ["batch:2"]]);
});

test("an execution with its tasks has the connection, and the rest learns that it has none until then", () => {
  const { sources, wiring } = wire();
  const health: boolean[] = [];
  const told: unknown[] = [];
  followTasks(
    (news) => told.push(news),
    (good) => health.push(good),
    wiring,
  );
  const open = () => sources.filter((source) => source.readyState !== 2).map((source) => source.address);
  const execution = followExecution("7", 0, () => {}, undefined, wiring);
  expect(open()).toEqual(["/api/v1/executions/7/events?environment=live&after=0"]);
  expect(health).toEqual([false]);
  sources.at(-1)?.send("end", '{"reason":"complete"}');
  expect(open()).toEqual(["/api/v1/human-tasks/stream?environment=live"]);
  sources.at(-1)?.send("open");
  expect(health).toEqual([false, true]);
  execution.close();
  expect(open()).toHaveLength(1);

  followExecution("8", 0, () => {}, undefined, wiring).close();
  expect(open()).toEqual(["/api/v1/human-tasks/stream?environment=live"]);
  expect(told).toEqual([]);
});

test("a stream that has ended with the session is there again with the next one", () => {
  const { sources, waits, page, wiring, signIn } = wire();
  const health: boolean[] = [];
  const changes: string[] = [];
  const batch = follow(
    ["batch:2"],
    ({ topic }) => changes.push(topic),
    (good) => health.push(good),
    wiring,
  );
  sources[0]?.send("open");
  sources[0]?.send("end", '{"reason":"revoked","reconnect":false}');
  expect(health).toEqual([false]);
  expect(page.looked).toBe(0);
  waits.at(-1)?.next();
  expect(page.looked).toBe(1); // the browser may have another session
  expect(sources).toHaveLength(1);
  signIn();
  expect(sources).toHaveLength(2);
  sources[1]?.send("open");
  sources[1]?.send("batch", '{"topic":"batch:2"}');
  expect([health, changes]).toEqual([[false, true], ["batch:2"]]);
  batch.close();
  signIn();
  expect(sources).toHaveLength(2); // nothing is followed any more
});

test("an execution is followed from where it was when the person has signed in again", () => {
  const { sources, wiring, signIn } = wire();
  const health: boolean[] = [];
  const tasks: boolean[] = [];
  const told: unknown[] = [];
  followTasks(
    () => {},
    (good) => tasks.push(good),
    wiring,
  );
  followExecution(
    "7",
    4,
    (one) => told.push(one),
    (good) => health.push(good),
    wiring,
  );
  sources.at(-1)?.send("task.started", '{"seq":5}');
  sources.at(-1)?.send("end", '{"reason":"revoked","reconnect":false}');
  expect(health).toEqual([false]);
  const open = () => sources.filter((source) => source.readyState !== 2).map((source) => source.address);
  expect(open()).toEqual([]);
  signIn();
  expect(open()).toEqual(["/api/v1/executions/7/events?environment=live&after=5"]);
  sources.at(-1)?.send("task.ended", '{"seq":6}');
  expect(health).toEqual([false, true]);
  expect(told).toHaveLength(2);
  expect(tasks).toEqual([false]); // the connection is the execution's as before
  sources.at(-1)?.send("end", '{"reason":"complete","reconnect":false}');
  expect(open()).toEqual(["/api/v1/human-tasks/stream?environment=live"]);
});
