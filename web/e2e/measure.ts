import { test, type CDPSession, type Page } from "@playwright/test";

/** Whether this is test/full, which looks at more, and for longer. */
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

/** The bytes that the scripts of a page hold, without garbage. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}

/**
 * Work tells how long the main thread of a page was on a processor. That is the same on a machine that does much else,
 * where the time of a clock says nothing.
 */
export class Work {
  readonly #session: CDPSession;

  private constructor(session: CDPSession) {
    this.#session = session;
  }

  static async of(page: Page): Promise<Work> {
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    return new Work(session);
  }

  /** Milliseconds on a processor since the page began. */
  async spent(): Promise<number> {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
  }

  /** What the page holds: elements, listeners. */
  async held(): Promise<{ nodes: number; listeners: number }> {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    const of = (wanted: string) => metrics.find(({ name }) => name === wanted)?.value ?? 0;
    return { nodes: of("Nodes"), listeners: of("JSEventListeners") };
  }

  /** Milliseconds on a processor that something takes. */
  async during(act: () => Promise<unknown>): Promise<number> {
    const before = await this.spent();
    await act();
    return (await this.spent()) - before;
  }
}
