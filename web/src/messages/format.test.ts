import { expect, test } from "vitest";
import { formatDuration, formatExact, formatRelative, plural } from "./format.ts";
import { setZone } from "./zone.ts";

test.each([
  [0, "0 ms"],
  [812, "812 ms"],
  [4239, "4.2 s"],
  [9960, "10 s"],
  [59_400, "59 s"],
  [59_600, "1 min 00 s"],
  [185_000, "3 min 05 s"],
  [3_840_000, "1 h 04 min"],
  [47 * 3_600_000, "47 h 00 min"],
  [51 * 3_600_000, "2 d 03 h"],
])("%d ms are %s", (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test("times ago and ahead", () => {
  const now = new Date("2026-03-01T12:00:00Z");
  const at = (seconds: number) => formatRelative(new Date(now.getTime() + seconds * 1000), now);
  expect([at(-3), at(-40), at(-150), at(-7200), at(-200_000), at(40)]).toEqual([
    "just now",
    "40 sec. ago",
    "2 min. ago",
    "2 hr. ago",
    "2 days ago",
    "in 40 sec.",
  ]);
});

test("words go with numbers", () => {
  expect([plural(1, "key", "keys"), plural(1204, "key", "keys")]).toEqual(["1 key", "1,204 keys"]);
});

test("a time is said in the zone of the person", () => {
  const at = new Date("2026-03-01T12:00:00Z");
  setZone("Asia/Kathmandu");
  expect(formatExact(at)).toContain("5:45:00");
  setZone("UTC");
  expect(formatExact(at)).toContain("12:00:00");
  setZone(undefined);
});
