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

/** Has requests answered with an error, in the form of the API, until `page.unroute` or `page.unrouteAll`. */
export function answerWith(
  page: Page,
  path: string | RegExp,
  problem: { status: number; code?: string; title?: string },
) {
  const json = { code: "spoiled", title: `Spoiled with ${problem.status}`, request_id: "0f1e2d3c", ...problem };
  return page.route(path, (route) =>
    route.fulfill({ status: problem.status, contentType: "application/problem+json", json }),
  );
}
