import { test } from "@playwright/test";

/** Whether this is test/full, which looks at more, and refuses what is much too slow. */
export const full = Boolean(process.env["CHARGEHAND_FULL"]);

/** Tells a figure at the end of the run. */
export const measured = (text: string): void => {
  test.info().annotations.push({ type: "measured", description: text });
};

/** The value that so many of 100 do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0;
}

export const median = (values: readonly number[]): number => percentile(values, 50);
