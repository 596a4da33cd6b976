import { expect, test } from "vitest";
import { makeScale } from "./scale.ts";
import { centre, moveEnd, pushEnd, readZoom, spanBetween, writeZoom, zoomBy } from "./zoom.ts";

const scale = makeScale(5000, 6000, [], false);

test("the address names a part, with or without an end", () => {
  expect(readZoom("100-300", 1000)).toEqual({ from: 100, to: 300 });
  expect(readZoom("100-", 1000)).toEqual({ from: 100, to: 1000 });
  expect(readZoom("100-99999", 1000)).toEqual({ from: 100, to: 1000 });
  const everything = { from: 0, to: 1000 };
  for (const zoom of [undefined, "", "300-100", "1000-2000", "5-5", "a-b"]) {
    expect(readZoom(zoom, 1000)).toEqual(everything);
  }
  expect(writeZoom({ from: 100, to: 300 }, 1000)).toBe("100-300");
  expect(writeZoom({ from: 100, to: 1000 }, 1000)).toBe("100-");
  expect(writeZoom(everything, 1000)).toBeUndefined();
});

test("zooming keeps the middle, ends at the ends, and at a millisecond", () => {
  expect(zoomBy(scale, { from: 0, to: 1000 }, 0.5)).toEqual({ from: 250, to: 750 });
  expect(zoomBy(scale, { from: 250, to: 750 }, 2)).toEqual({ from: 0, to: 1000 });
  expect(zoomBy(scale, { from: 0, to: 200 }, 2)).toEqual({ from: 0, to: 400 });
  expect(zoomBy(scale, { from: 0, to: 800 }, 2)).toEqual({ from: 0, to: 1000 });
  let span = { from: 0, to: 1000 };
  for (let n = 0; n < 30; n++) {
    span = zoomBy(scale, span, 0.5);
    expect(span.to).toBeGreaterThan(span.from);
  }
  expect(span.to - span.from).toBeLessThan(4);
});

test("another middle keeps the size", () => {
  expect(centre(scale, { from: 0, to: 200 }, 0.5)).toEqual({ from: 400, to: 600 });
  expect(centre(scale, { from: 0, to: 200 }, 1)).toEqual({ from: 800, to: 1000 });
});

test("an end does not pass the other one", () => {
  const span = { from: 200, to: 400 };
  expect(moveEnd(scale, span, "from", 0.3)).toEqual({ from: 300, to: 400 });
  expect(moveEnd(scale, span, "from", 0.9)).toEqual({ from: 399, to: 400 });
  expect(moveEnd(scale, span, "to", 0)).toEqual({ from: 200, to: 201 });
  expect(moveEnd(scale, span, "to", 2)).toEqual({ from: 200, to: 1000 });
});

test("an end that is pushed moves by a millisecond at least, and stays inside", () => {
  const span = { from: 200, to: 400 };
  expect(pushEnd(scale, span, "from", 0.02)).toEqual({ from: 220, to: 400 });
  expect(pushEnd(scale, span, "from", -0.5)).toEqual({ from: 0, to: 400 });
  expect(pushEnd(scale, span, "to", 0.9)).toEqual({ from: 200, to: 1000 });
  const short = makeScale(0, 5, [], false);
  expect(pushEnd(short, { from: 0, to: 5 }, "from", 0.02)).toEqual({ from: 1, to: 5 });
  expect(pushEnd(short, { from: 1, to: 5 }, "from", -0.02)).toEqual({ from: 0, to: 5 });
  expect(pushEnd(short, { from: 0, to: 5 }, "from", -0.02)).toEqual({ from: 0, to: 5 });
});

test("a part between places, in any order, and over a collapsed idle time", () => {
  expect(spanBetween(scale, 0.6, 0.2)).toEqual({ from: 200, to: 600 });
  expect(spanBetween(scale, 1, 1)).toEqual({ from: 999, to: 1000 });
  const idle = makeScale(
    0,
    10_000,
    [
      [0, 100],
      [9900, 10_000],
    ],
    true,
  );
  const found = spanBetween(idle, 0.49, 0.51);
  expect([found.from, found.to]).toEqual([100, 9900]);
});
