import { expect, test } from "vitest";
import { makeScale } from "./scale.ts";

test("without collapsing, time is even", () => {
  const scale = makeScale(1000, 2000, [[1000, 1100]], false);
  expect(scale.idle).toEqual([]);
  expect([scale.place(1000), scale.place(1500), scale.place(2000)]).toEqual([0, 0.5, 1]);
});

test("a long idle time gets little room, and order is kept", () => {
  const busy = [
    [0, 100],
    [9900, 10_000],
    [50, 120],
  ] as const;
  const scale = makeScale(0, 10_000, busy, true);
  expect(scale.idle).toEqual([{ from: 120, to: 9900 }]);
  expect(scale.place(10_000)).toBeCloseTo(1);
  expect(scale.place(9900) - scale.place(120)).toBeCloseTo(0.02);
  const places = Array.from({ length: 101 }, (_, i) => scale.place(i * 100));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test("idle at the ends, nothing at all, and times outside", () => {
  const scale = makeScale(0, 1000, [[400, 500]], true);
  expect(scale.idle).toEqual([
    { from: 0, to: 400 },
    { from: 500, to: 1000 },
  ]);
  expect(scale.place(-5)).toBe(0);
  expect(scale.place(9999)).toBeCloseTo(1);
  const empty = makeScale(5, 5, [], true);
  expect([empty.place(5), empty.place(6)].every(Number.isFinite)).toBe(true);
});
