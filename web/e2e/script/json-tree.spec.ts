import { expect, test } from "../harness.ts";
import { apply, run } from "../workflows.ts";

const numbers = Array.from({ length: 3000 }, (_, number) => ({ number, note: number === 2750 ? "the Needle" : "hay" }));

/** In the page: what is over the marked text of the hit; nothing: it can be read. */
function coveredHit(): string {
  const mark = document.querySelector("[data-hit] mark");
  const box = mark?.getBoundingClientRect();
  const over = box && document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return over === mark && mark ? "" : (over?.outerHTML.slice(0, 200) ?? "it is outside of the window");
}

/** In the page: whether an element is what a pointer meets in its middle. */
function isOnTop(element: Element): boolean {
  const box = element.getBoundingClientRect();
  return document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2) === element;
}

test("a value is searched, and a part of it is named", async ({ page, admin, member, signIn, hand, inspect }) => {
  const workflow = await apply(admin, [{ keep: { set: { kept: true } } }]);
  const input = {
    customer: { "first name": "Ada", tags: ["needless"] },
    numbers,
    total: 12,
    long: 2 ** 60, // as long as JavaScript holds no others exactly
    state: "new",
    small: null,
  };
  const id = await run(admin, workflow, input);
  await signIn(member);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`/executions/${id}?tab=io`);
  const tree = page.locator(".json-tree").first();
  await expect(tree).toContainText("numbers: 3,000 items");
  await expect(tree).toContainText(/long: \d{19} \(rounded by this page\)/u);
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

  // The field stays in sight, and neither it nor the top bar hides a hit.
  const field = page.getByLabel("Search in Input");
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const [key, found] of [
      ["Shift+Enter", "1 of 2"],
      ["Enter", "2 of 2"],
    ] as const) {
      await field.press(key);
      await expect(tree).toContainText(found);
      await expect.poll(() => page.evaluate(coveredHit), `what covers hit ${found} at ${width} pixels`).toBe("");
    }
    await expect(field).toBeInViewport({ ratio: 1 });
    expect(await field.evaluate(isOnTop), "nothing covers the field").toBe(true);
    expect(await page.evaluate(() => scrollY), "how far the page is scrolled").toBeGreaterThan(300);
  }

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
