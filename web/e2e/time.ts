import { expect, type Page } from "@playwright/test";

/**
 * How long something is looked for, of what is looked at again and again: longer each time, because on a machine that
 * is busy with other tests an answer may take a while.
 */
interface Soon {
  timeout: number;
}
const first: Soon = { timeout: 250 };
const longer = ({ timeout }: Soon): Soon => ({ timeout: Math.min(timeout * 1.1, 5000) });

/** Lets the time of the page pass until something is seen: nothing here waits for as long as a person would. */
export async function passTimeUntil(page: Page, seen: (soon: Soon) => Promise<void>): Promise<void> {
  let soon = first;
  await expect(async () => {
    await page.clock.runFor(2000);
    soon = longer(soon);
    await seen(soon);
  }).toPass({ intervals: [50], timeout: 120_000 });
}

/** Scrolls to the end of a page, which may grow while that is done, until something is seen. */
export async function scrollUntil(page: Page, seen: (soon: Soon) => Promise<void>): Promise<void> {
  let soon = first;
  await expect(async () => {
    await page.evaluate(() => scrollTo({ top: document.documentElement.scrollHeight }));
    soon = longer(soon);
    await seen(soon);
  }).toPass({ intervals: [100], timeout: 120_000 });
}
