import { expect, test, vi } from "vitest";
import { check } from "./check.ts";
import { startChecker, type Told } from "./checker.ts";
import { bounded, checkable, sayFound, type Finding } from "./findings.ts";

const found = (schema: object, value: unknown) => check(JSON.stringify(schema), JSON.stringify(value));

test("what is wrong is at its place, with what the schema asks for", () => {
  const schema = {
    type: "object",
    required: ["a/b"],
    properties: {
      name: { $ref: "#/$defs/name" },
      count: { type: "integer", minimum: 3 },
      mail: { type: "string", format: "email" },
      rows: { type: "array", items: { type: "object", properties: { "50 %": { maximum: 5 } } } },
      oneOf: { type: "string", maxLength: 2 },
    },
    $defs: { name: { type: "string", maxLength: 3 } },
  };
  const value = { name: "Lovelace", count: 1, mail: "x", rows: [{}, { "50 %": 6 }], oneOf: "long" };
  expect(found(schema, value)).toEqual([
    { pointer: "/a~1b", keyword: "required" },
    { pointer: "/name", keyword: "maxLength", expected: 3 },
    { pointer: "/count", keyword: "minimum", expected: 3 },
    { pointer: "/mail", keyword: "format", expected: "email" },
    { pointer: "/rows/1/50 %", keyword: "maximum", expected: 5 },
    { pointer: "/oneOf", keyword: "maxLength", expected: 2 },
  ]);
  expect(found(schema, { "a/b": 1, name: "Ada", count: 3, mail: "ada@example.com" })).toEqual([]);
});

test("what one of several forms asks for is not asked for", () => {
  const schema = {
    properties: { how: { oneOf: [{ type: "string", minLength: 3 }, { type: "integer" }] } },
    if: { required: ["how"] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: { required: ["why"] },
  };
  expect(found(schema, { how: "no" })).toEqual([
    { pointer: "/why", keyword: "required" },
    { pointer: "/how", keyword: "oneOf" },
  ]);
});

test("a format that the server does not judge is none", () => {
  for (const format of ["constructor", "hasOwnProperty", "url", "colour"]) {
    expect(found({ format }, "x")).toEqual([]);
  }
});

test("a schema that cannot be checked here throws, and is not waited for", () => {
  expect(() => found({ $ref: "https://example.com/other" }, 1)).toThrow("Unresolved");
  expect(() => found({ $ref: "#" }, 1)).toThrow(RangeError);
  expect(() => found({ pattern: "(?i)a" }, "b")).toThrow(SyntaxError);
});

test("what is too large, or of another draft, is left to the server", () => {
  expect(checkable({ $schema: "http://json-schema.org/draft-07/schema#" })).toBeUndefined();
  expect(checkable({ $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" })).toBeDefined();
  expect(checkable({ description: "x".repeat(300_000) })).toBeUndefined();
  expect(checkable(undefined)).toBeUndefined();
  expect(bounded("x".repeat(300_000))).toBeUndefined();
  expect(bounded(undefined)).toBeUndefined();
});

test("only fields that were left say what is wrong, in words", () => {
  const findings: Finding[] = [
    { pointer: "/name", keyword: "maxLength", expected: 3 },
    { pointer: "/any/deep", keyword: "required" },
    { pointer: "/odd", keyword: "toString", expected: 1 },
    { pointer: "/when", keyword: "format", expected: "constructor" },
  ];
  const all = new Set(["/name", "/any", "/odd", "/when", "/right"]);
  expect(sayFound(findings, new Set(), "/name", true)).toBeUndefined();
  expect(sayFound(findings, all, "/name", true)).toBe("At most 3 characters.");
  expect(sayFound(findings, all, "/any", true)).toBe("deep: Fill this in.");
  expect(sayFound(findings, all, "/any", false)).toBeUndefined();
  expect(sayFound(findings, all, "/odd", true)).toBe("This does not fit what is asked for.");
  expect(sayFound(findings, all, "/when", true)).toBe("This does not have the form that is asked for.");
  expect(sayFound(findings, all, "/right", true)).toBeUndefined();
});

/** A worker that answers when a test says so. */
class Slow extends EventTarget {
  posted: unknown[] = [];
  terminated = false;
  postMessage(data: unknown) {
    this.posted.push(data);
  }
  terminate() {
    this.terminated = true;
  }
  tell(data: Told) {
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
}

function checkerOf(slow: Slow) {
  const told: unknown[] = [];
  const checker = startChecker(
    (_, { value }) => told.push(value),
    () => slow as unknown as Worker,
  );
  return { told, ask: (value: string) => checker.ask({ schema: "{}", value }) };
}

test("the latest value is checked, one at a time, after the worker was loaded", () => {
  const slow = new Slow();
  const { told, ask } = checkerOf(slow);
  ask("1");
  ask("2");
  expect(slow.posted).toEqual([]);
  slow.tell("ready");
  ask("3");
  ask("4");
  slow.tell([]);
  slow.tell([]);
  expect(slow.posted).toEqual(["2", "4"].map((value) => ({ schema: "{}", value })));
  expect(told).toEqual(["4"]);
});

test("a check that takes too long is ended, and nothing is checked after it", () => {
  vi.useFakeTimers();
  const slow = new Slow();
  const { told, ask } = checkerOf(slow);
  slow.tell("ready");
  ask("1");
  vi.advanceTimersByTime(499);
  expect(slow.terminated).toBe(false);
  vi.advanceTimersByTime(1);
  expect(slow.terminated).toBe(true);
  ask("2");
  slow.tell([]);
  expect(slow.posted).toHaveLength(1);
  expect(told).toEqual([]);
  vi.useRealTimers();
});
