import { expect, test } from "vitest";
import { makeScale, marksOf, ticksOf } from "./scale.ts";

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

test("places lead back to their times", () => {
  const busy = [
    [0, 100],
    [9900, 10_000],
  ] as const;
  for (const scale of [makeScale(0, 10_000, busy, true), makeScale(0, 10_000, busy, false)]) {
    for (const time of [0, 50, 100, 3000, 9900, 9950, 10_000]) {
      expect(scale.time(scale.place(time))).toBeCloseTo(time);
    }
    expect([scale.time(-1), scale.time(2)]).toEqual([0, 10_000]);
  }
});

test("a part of the time: what is outside is at its ends, and only what is idle in it is collapsed", () => {
  const busy = [
    [0, 100],
    [5000, 5100],
    [9900, 10_000],
  ] as const;
  const part = makeScale(4000, 6000, busy, true);
  expect(part.idle).toEqual([
    { from: 4000, to: 5000 },
    { from: 5100, to: 6000 },
  ]);
  expect([part.place(0), part.place(10_000)]).toEqual([0, 1]);
});

test("where nothing runs, nothing is collapsed", () => {
  const scale = makeScale(200, 1200, [[0, 100]], true);
  expect(scale.idle).toEqual([]);
  expect(scale.place(700)).toBe(0.5);
  // Tasks that take no time are no work that could be given the room.
  const moments = makeScale(
    0,
    1000,
    [
      [0, 0],
      [1000, 1000],
    ],
    true,
  );
  expect(moments.place(500)).toBe(0.5);
});

const ticksBetween = (from: number, to: number) =>
  ticksOf(makeScale(from, to, [], false), 1000, 4).map(({ since, place }) => [since, Number(place.toFixed(2))]);

test("ticks are at even times since the start", () => {
  expect(ticksBetween(1000, 2000)).toEqual([
    [0, 0],
    [500, 0.5],
    [1000, 1],
  ]);
  expect(ticksBetween(1130, 1150)).toEqual([
    [130, 0],
    [135, 0.25],
    [140, 0.5],
    [145, 0.75],
    [150, 1],
  ]);
  expect(ticksBetween(1000, 1000 + 40 * 24 * 60 * 60_000).map(([since]) => Number(since) / (24 * 60 * 60_000))).toEqual(
    [0, 16, 32],
  );
});

test("no tick is in a collapsed idle time, and none touches another", () => {
  const scale = makeScale(
    0,
    3_600_000,
    [
      [0, 100],
      [3_599_800, 3_600_000],
    ],
    true,
  );
  const ticks = ticksOf(scale, 0, 4);
  expect(ticks.length).toBeGreaterThan(2);
  expect(ticks.filter(({ since }) => since > 100 && since < 3_599_800)).toEqual([]);
  for (const [at, tick] of ticks.entries()) {
    expect(tick.place - (ticks[at - 1]?.place ?? -1)).toBeGreaterThan(0.17);
  }
});

test("marks that touch are one", () => {
  const busy = [
    [500, 600],
    [0, 100],
    [100.5, 200],
    [50, 150],
  ] as const;
  expect(marksOf(makeScale(0, 1000, [], false), busy)).toEqual([
    { at: 0, width: 0.2 },
    { at: 0.5, width: expect.closeTo(0.1) as number },
  ]);
});
