import { expect, test } from "vitest";
import { allPages, pageAbout } from "./reference.ts";
import type { Path } from "./path.ts";

const about = (path: Path, fields: Record<string, string> = {}) =>
  pageAbout(path, () => new Map(Object.entries(fields)));

test("a place leads to the page about its innermost key", () => {
  expect(about(["document"])).toBe("document");
  expect(about(["document", "dsl"])).toBe("document");
  expect(about(["do", 0, "pause", "wait"])).toBe("wait");
  expect(about(["do", 0, "pause", "wait", "seconds"])).toBe("wait");
  expect(about(["do", 0, "ask", "then"])).toBe("flow");
  expect(about(["do", 0, "each", "for", "in"])).toBe("for");
  expect(about(["do", 0, "a", "try", 1, "b", "catch", "retry", "limit"])).toBe("errors");
  expect(about(["do", 0, "decide", "switch", 2, "large", "when"])).toBe("switch");
  expect(about(["input", "schema"])).toBe("data-flow");
  expect(about(["nothing"])).toBe("README");
  expect(about(["constructor"])).toBe("README");
});

test("names of tasks are no keys", () => {
  expect(about(["do", 0, "wait", "set"])).toBe("set");
  expect(about(["do", 0, "fork", "emit", "event"])).toBe("emit");
});

test("what is called, and what is run, have pages of their own", () => {
  expect(about(["do", 0, "a", "call"], { call: "http" })).toBe("call-http");
  expect(about(["do", 0, "a", "with", "endpoint"], { call: "http" })).toBe("call-http");
  expect(about(["do", 0, "a", "call"], { call: "human:1.0.0@default" })).toBe("call-human");
  expect(about(["do", 0, "a", "call"], { call: "ownFunction" })).toBe("functions");
  expect(about(["do", 0, "a", "listen", "to", "one", "with", "type"])).toBe("listen");
  expect(about(["do", 0, "a", "run", "shell", "command"])).toBe("run-shell");
  expect(about(["do", 0, "a", "run"], { script: "" })).toBe("run-script");
  expect(about(["do", 0, "a", "run"])).toBe("README");
});

test("all pages are in the documentation", () => {
  const known = Object.keys(import.meta.glob("../../../docs/language/*.md")).map((file) =>
    file.replace(/^.*\/|\.md$/g, ""),
  );
  expect(known).toEqual(expect.arrayContaining([...allPages]));
});
