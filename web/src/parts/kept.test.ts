import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keep, put, readKept } from "./kept.ts";

/** The storage of a tab, with room for so many characters. It has what it keeps as properties, as that of a browser. */
function storage(room: number) {
  const own: Record<string, string> = {};
  const set = (name: string, text: string) => {
    const others = Object.entries(own).filter(([other]) => other !== name);
    if ([...others, [name, text]].flat().join("").length > room) {
      throw new DOMException("full", "QuotaExceededError");
    }
    own[name] = text;
  };
  return new Proxy(own, {
    get: (_, name) =>
      ({
        setItem: set,
        getItem: (key: string) => own[key] ?? null,
        removeItem: (key: string) => delete own[key],
      })[String(name)] ?? own[String(name)],
  });
}

beforeEach(() => void vi.stubGlobal("sessionStorage", storage(200)));
afterEach(() => void vi.unstubAllGlobals());

test("what is kept comes again", () => {
  expect(keep("chargehand-list:a", { top: 12 })).toBe(true);
  expect(readKept("chargehand-list:a")).toEqual({ top: 12 });
});

test("without room, places in lists that were left are forgotten, and not what was typed", () => {
  keep("chargehand-list:a", "x".repeat(40));
  keep("chargehand-height-Executions:a", 33);
  put("chargehand-input:live:1", "typed");
  expect(put("chargehand-task:live:2", "y".repeat(100))).toBe(true);
  expect(readKept("chargehand-list:a")).toBeUndefined();
  expect(readKept("chargehand-height-Executions:a")).toBeUndefined();
  expect(sessionStorage.getItem("chargehand-input:live:1")).toBe("typed");
});

test("what has no room at all is not kept, nor what was there before, and nothing is thrown", () => {
  put("chargehand-input:live:1", "old");
  expect(put("chargehand-input:live:1", "z".repeat(500))).toBe(false);
  expect(sessionStorage.getItem("chargehand-input:live:1")).toBeNull();
});
