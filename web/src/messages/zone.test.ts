import { afterEach, expect, test } from "vitest";
import { fromClock, isTimeZone, setZone, toClock } from "./zone.ts";

afterEach(() => setZone(undefined));

test("a clock shows the time of its zone, and is read in it", () => {
  for (const [zone, at, clock] of [
    ["UTC", "2026-03-01T12:00:00.000Z", "2026-03-01T12:00:00.000"],
    ["Europe/Berlin", "2026-03-01T12:00:00.250Z", "2026-03-01T13:00:00.250"],
    ["Europe/Berlin", "2026-07-01T22:30:00.000Z", "2026-07-02T00:30:00.000"],
    ["Asia/Kathmandu", "2026-01-01T00:00:00.000Z", "2026-01-01T05:45:00.000"],
    ["America/New_York", "2026-11-01T03:00:00.000Z", "2026-10-31T23:00:00.000"],
    // An hour before and after clocks are put forward in Berlin.
    ["Europe/Berlin", "2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000"],
    ["Europe/Berlin", "2026-03-29T01:30:00.000Z", "2026-03-29T03:30:00.000"],
  ] as const) {
    setZone(zone);
    expect(toClock(new Date(at)), zone).toBe(clock);
    expect(fromClock(clock).toISOString(), zone).toBe(at);
  }
});

test("fields without seconds are read, and what is no time is none", () => {
  setZone("Europe/Berlin");
  expect(fromClock("2026-03-01T13:00").toISOString()).toBe("2026-03-01T12:00:00.000Z");
  expect(fromClock("").getTime()).toBeNaN();
});

test("a zone that the browser does not know is that of the browser", () => {
  const at = new Date("2026-03-01T12:00:00.000Z");
  const usual = toClock(at);
  setZone("Nowhere/Atlantis");
  expect(toClock(at)).toBe(usual);
  expect([isTimeZone("Nowhere/Atlantis"), isTimeZone("Europe/Berlin")]).toEqual([false, true]);
});
