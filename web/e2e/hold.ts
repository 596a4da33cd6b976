import type { Page, Route } from "@playwright/test";

/** Lets no request of a method through until the function that is returned is called. */
export async function holdBack(page: Page, path: string, method: string): Promise<() => Promise<void>> {
  const held: Route[] = [];
  let through = false;
  await page.route(path, async (route) => {
    if (route.request().method() === method && !through) {
      held.push(route);
    } else {
      await route.continue();
    }
  });
  return async () => {
    through = true;
    await Promise.all(held.map((route) => route.continue()));
  };
}
