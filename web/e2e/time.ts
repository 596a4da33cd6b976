import { expect, type Page } from "@playwright/test";

/** For what is looked at again and again while the time of a page passes. */
export const soon = { timeout: 250 };

/** Lets the time of the page pass until something is seen: nothing here waits for as long as a person would. */
export async function passTimeUntil(page: Page, seen: () => Promise<void>): Promise<void> {
  await expect(async () => {
    await page.clock.runFor(2000);
    await seen();
  }).toPass({ intervals: [50], timeout: 60_000 });
}

/** Scrolls to the end of a page, which may grow while that is done, until something is seen. */
export async function scrollUntil(page: Page, seen: () => Promise<void>): Promise<void> {
  await expect(async () => {
    await page.evaluate(() => scrollTo({ top: document.documentElement.scrollHeight }));
    await seen();
  }).toPass({ intervals: [100] });
}
