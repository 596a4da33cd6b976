import { expect, test } from "../harness.ts";

test("the server shows the documentation of its version", async ({ page, hand, inspect }) => {
  await page.goto("/docs");
  await expect(page).toHaveTitle("Documentation – Chargehand");
  await hand.follow("Language of workflows");
  await expect(page).toHaveURL("/docs/language/README");
  await inspect("manual-language");
  await hand.follow("wait");
  await expect(page).toHaveURL("/docs/language/wait");
  await expect(page.getByRole("heading", { name: "wait", level: 1 })).toBeVisible();
  await expect(page.locator("pre").first()).toContainText("milliseconds: 20");
  await inspect("manual-page");
  await hand.follow("duration");
  await expect(page).toHaveURL("/docs/language/durations");
  const answer = await page.goto("/docs/language/nothing");
  expect(answer?.status()).toBe(404);
  await expect(page.getByRole("alert")).toContainText("The documentation has no page");
});
