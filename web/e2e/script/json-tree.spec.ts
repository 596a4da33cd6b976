import { expect, test } from "../harness.ts";
import { apply, run } from "../workflows.ts";

const numbers = Array.from({ length: 3000 }, (_, number) => ({ number, note: number === 2750 ? "the Needle" : "hay" }));

test("a value is searched, and a part of it is named", async ({ page, admin, member, signIn, hand, inspect }) => {
  const workflow = await apply(admin, [{ keep: { set: { kept: true } } }]);
  const input = {
    customer: { "first name": "Ada", tags: ["needless"] },
    numbers,
    total: 12,
    state: "new",
    small: null,
  };
  const id = await run(admin, workflow, input);
  await signIn(member);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`/executions/${id}?tab=io`);
  const tree = page.locator(".json-tree").first();
  await expect(tree).toContainText("numbers: 3,000 items");
  // What is small is not searched.
  await expect(page.getByLabel("Search in Output")).toHaveCount(0);

  await hand.fill("Search in Input", "needle");
  await expect(tree).toContainText("1 of 2");
  await expect(tree.locator("mark")).toHaveText(["needle"]);
  await page.keyboard.press("Enter");
  await expect(tree).toContainText("2 of 2");
  // The hit is there, though it is far behind what is shown of the list, and the rest of the list is not.
  const hit = tree.locator("[data-hit]");
  await expect(hit).toContainText('note: "the Needle"');
  await expect(hit).toBeInViewport();
  expect(await tree.locator(".json-line").count()).toBeLessThan(200);
  await inspect("json-tree-found");

  await hit.hover();
  await hit.getByRole("button", { name: "Path of note" }).press("Enter");
  await expect(tree).toContainText(".numbers[2750].note");
  await expect(tree).toContainText("/numbers/2750/note");
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await hand.press("Copy Path for jq");
  await expect.poll(copied).toBe(".numbers[2750].note");
  await hand.press("Copy JSON Pointer");
  await expect.poll(copied).toBe("/numbers/2750/note");
  await hand.press("Copy Value");
  await expect.poll(copied).toBe("the Needle");
  await inspect("json-tree-path");

  await hand.press("Path of first name");
  await expect(tree).toContainText('.customer["first name"]');
  await expect(tree).toContainText("/customer/first name");
  await expect(tree).not.toContainText("/numbers/2750/note");
  await hand.fill("Search in Input", "nothing like this");
  await expect(tree).toContainText("Nothing found");
  await expect(tree.locator("mark")).toHaveCount(0);
  await inspect("json-tree-nothing");
});
