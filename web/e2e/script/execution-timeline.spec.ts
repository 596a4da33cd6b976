import type { Locator, Page } from "@playwright/test";
import { expect, test } from "../harness.ts";
import { apply, refuse, run } from "../workflows.ts";

/** Four tasks one after the other that take a quarter of the time each. */
const quarters = ["one", "two", "three", "four"].map((name) => ({ [name]: { wait: { milliseconds: 300 } } }));

const row = (page: Page, name: string) => page.getByRole("treeitem", { name: new RegExp(`^${name} `) });

/** The tasks that have a bar in the part of the time that is shown. */
async function expectBars(page: Page, names: string[]): Promise<void> {
  for (const name of ["one", "two", "three", "four"]) {
    await expect(row(page, name).locator(".bar")).toHaveCount(names.includes(name) ? 1 : 0);
  }
}

/** Drags from one place of an element to another, as shares of its width. */
async function drag(page: Page, element: string, from: number, to: number): Promise<void> {
  const box = await page.locator(element).boundingBox();
  expect(box).not.toBeNull();
  const { x, y, width, height } = box ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(x + width * from, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + (width * (from + to)) / 2, y + height / 2);
  await page.mouse.move(x + width * to, y + height / 2);
  await page.mouse.up();
}

async function press(element: Locator, keys: string[]): Promise<void> {
  for (const key of keys) {
    await element.press(key);
  }
}

test("a timeline shows a part of the time, which keys choose and the address keeps", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const id = await run(admin, await apply(admin, quarters));
  await signIn(member);
  await page.goto(`/executions/${id}`);
  await expectBars(page, ["one", "two", "three", "four"]);
  await inspect("execution-timeline");

  const tree = page.getByRole("tree", { name: "Tasks" });
  const [from, to] = [
    page.getByRole("slider", { name: "Beginning of the part" }),
    page.getByRole("slider", { name: "End of the part" }),
  ];
  await tree.press("+");
  await expect(page).toHaveURL(/zoom=\d+-\d+$/);
  const once = page.url();
  await tree.press("+");
  await expect(page).not.toHaveURL(once);
  await expectBars(page, ["two", "three"]);
  await expect(row(page, "one").getByTitle("It ran before this part of the time")).toBeVisible();
  await expect(row(page, "four").getByTitle("It ran after this part of the time")).toBeVisible();
  await expect(from).toHaveAttribute("aria-valuetext", /^\d+ ms$/);
  await inspect("execution-zoom");

  // Loading the page shows the same again, and so does going back to it.
  const zoomed = page.url();
  await page.reload();
  await expectBars(page, ["two", "three"]);
  await hand.follow("Input/output");
  await expect(page).toHaveURL(/tab=io/);
  await page.goBack();
  await expect(page).toHaveURL(zoomed);
  await expectBars(page, ["two", "three"]);

  await tree.press("-");
  await expect(page).not.toHaveURL(zoomed);
  await tree.press("0");
  await expect(page).not.toHaveURL(/zoom=/);
  await expectBars(page, ["one", "two", "three", "four"]);

  // The ends of the part are moved by keys, too.
  await press(to, ["End", ...Array.from({ length: 8 }, () => "PageDown")]);
  await expect(page).toHaveURL(/zoom=0-\d+$/);
  await expectBars(page, ["one"]);
  await hand.press("Whole time");
  await expect(page).not.toHaveURL(/zoom=/);
  await press(from, ["ArrowRight", "PageUp", "PageUp", "PageUp"]);
  await expect(page).toHaveURL(/zoom=\d+-$/);
  await expectBars(page, ["two", "three", "four"]);
  await press(from, ["Home", "End", ...Array.from({ length: 2 }, () => "PageDown")]);
  await expectBars(page, ["four"]);

  await page.getByLabel("Collapse idle time").uncheck();
  await expect(page).toHaveURL(/idle=even/);
  await page.reload();
  await expect(page.getByLabel("Collapse idle time")).not.toBeChecked();
  await expectBars(page, ["four"]);
});

test("a part of the time is dragged over the axis and on the strip", async ({ page, admin, member, signIn, hand }) => {
  const id = await run(admin, await apply(admin, quarters));
  await signIn(member);
  await page.goto(`/executions/${id}`);
  await expectBars(page, ["one", "two", "three", "four"]);
  await drag(page, ".axis", 0.3, 0.95);
  await expectBars(page, ["two", "three", "four"]);
  // Within what is shown.
  await drag(page, ".axis", 0.9, 0.6);
  await expectBars(page, ["three", "four"]);
  await hand.press("Zoom out");
  await hand.press("Whole time");
  await expect(page).not.toHaveURL(/zoom=/);

  await drag(page, ".brush-track", 0.05, 0.2);
  await expectBars(page, ["one"]);
  await expect(page).toHaveURL(/zoom=\d+-\d+$/);
  // The part is moved as a whole, then one end of it, then to where the strip is pressed.
  await drag(page, ".brush-track", 0.12, 0.38);
  await expectBars(page, ["two"]);
  const box = await page.locator(".brush-track").boundingBox();
  const end = await page.getByRole("slider", { name: "End of the part" }).boundingBox();
  if (!box || !end) {
    throw new Error("the strip is not there");
  }
  const middle = box.y + box.height / 2;
  await page.mouse.move(end.x + 3, middle);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, middle);
  await page.mouse.move(box.x + box.width * 0.65, middle);
  await expectBars(page, ["two", "three"]);
  await page.mouse.up();
  await page.mouse.click(box.x + box.width - 2, middle);
  await expectBars(page, ["three", "four"]);
  await expect(page).toHaveURL(/zoom=\d+-$/);
});

test("a part without an end grows with what runs", async ({ page, admin, member, signIn }) => {
  const workflow = await apply(admin, [{ first: { wait: { milliseconds: 50 } } }, { pause: { wait: { hours: 1 } } }]);
  const id = await run(admin, workflow, {}, "0s");
  await signIn(member);
  await page.goto(`/executions/${id}`);
  await expect(row(page, "pause").locator(".bar")).toHaveCount(1);
  const end = page.getByRole("slider", { name: "End of the part" });
  const now = async () => Number(await end.getAttribute("aria-valuenow"));
  const begin = (await now()) + 1; // the first task has ended by then, however long that took
  await page.goto(`/executions/${id}?zoom=${begin}-`);
  await expect(row(page, "pause").locator(".bar")).toHaveCount(1);
  await expect(row(page, "first").locator(".bar")).toHaveCount(0);
  const before = await now();
  await expect.poll(now).toBeGreaterThan(before);
  const beginning = page.getByRole("slider", { name: "Beginning of the part" });
  await expect(beginning).toHaveAttribute("aria-valuenow", String(begin));
  await expect(page).toHaveURL(new RegExp(`zoom=${begin}-$`));
});

test("an execution is compared with the one before, and what only one of them has is said", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [
    { first: { wait: { milliseconds: 100 } } },
    { more: { if: "${ .more }", wait: { milliseconds: 200 } } },
    { each: { for: { each: "n", in: "${ .items }" }, do: [{ step: { wait: { milliseconds: 20 } } }] } },
  ]);
  const before = await run(admin, workflow, { more: false, items: [1] });
  const id = await run(admin, workflow, { more: true, items: [1, 2, 3] });
  await signIn(member);
  await page.goto(`/executions/${id}`);
  const compare = page.getByLabel("Compare with the previous execution");
  const comparison = page.getByRole("region", { name: "Comparison" });
  await compare.check();
  await expect(page).toHaveURL(new RegExp(`with=${before}`));
  await expect(comparison).toContainText("Only in this one: more.");
  await expect(comparison).toContainText("The other one has 1 pass of each.");
  await expect(row(page, "first")).toContainText(/\d+ ms, other \d+ ms/);
  await expect(row(page, "first").locator(".bar-other")).toHaveCount(1);
  await expect(row(page, "more")).toContainText("only in this one");
  await expect(row(page, "more").locator(".bar-other")).toHaveCount(0);
  await expect(row(page, "step").locator(".bar-other")).toHaveCount(0);
  await inspect("execution-compare");

  // A pass that both have, and only a part of the time.
  await page.getByRole("spinbutton", { name: "Pass of each" }).fill("1");
  await expect(comparison).not.toContainText("of each");
  await expect(row(page, "step").locator(".bar-other")).toHaveCount(1);
  await page.getByRole("tree", { name: "Tasks" }).press("+");
  await expect(page).toHaveURL(/zoom=/);
  await page.reload();
  await expect(compare).toBeChecked();
  await expect(comparison).toContainText("Only in this one: more.");
  await compare.uncheck();
  await expect(comparison).toHaveCount(0);
  await expect(page.locator(".bar-other")).toHaveCount(0);
  await expect(page).not.toHaveURL(/with=/);

  // The first one has none before it. With any other it is compared by its address.
  await page.goto(`/executions/${before}?with=${id}`);
  await expect(comparison).toContainText("Only in the other one: more.");
  await hand.follow(id.slice(-8));
  await expect(page).toHaveURL(`/executions/${id}`);
  await page.goto(`/executions/${before}`);
  await compare.click();
  await expect(page.getByText("No earlier execution of the workflow has ended.")).toBeVisible();
  await expect(compare).not.toBeChecked();

  // What a retry repeats comes before what ran last.
  const retried = await admin.call<{ execution_id: string }>(
    "POST",
    `/workflows/${workflow.id}/executions/${before}/retry`,
    {},
  );
  await page.goto(`/executions/${retried.execution_id}`);
  await compare.check();
  await expect(page).toHaveURL(new RegExp(`with=${before}`));
  await expect(row(page, "first").locator(".bar-other")).toHaveCount(1);
});

test("a comparison with what is not there says so, and the timeline stays", async ({
  page,
  admin,
  member,
  signIn,
  watch,
}) => {
  const id = await run(admin, await apply(admin, quarters));
  await signIn(member);
  await page.goto(`/executions/${id}?with=01937c5e-8f00-7000-8000-00000000e8ec`);
  await expect(page.getByRole("alert")).toBeVisible();
  await expectBars(page, ["one", "two", "three", "four"]);
  await page.getByLabel("Compare with the previous execution").uncheck();
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(watch.take().filter((line) => !line.startsWith("404 for "))).toEqual([]);
});

test("attempts, the delays between them and waiting look different", async ({
  page,
  admin,
  member,
  signIn,
  inspect,
}) => {
  const retry = { delay: { milliseconds: 150 }, limit: { attempt: { count: 2 } } };
  const caught = { errors: { with: { status: 422 } }, retry, do: [{ tell: { set: { handled: true } } }] };
  const workflow = await apply(admin, [
    { pause: { wait: { milliseconds: 100 } } },
    { guard: { try: [{ check: refuse() }], catch: caught } },
  ]);
  const id = await run(admin, workflow);
  await signIn(member);
  await page.goto(`/executions/${id}`);
  await expect(row(page, "guard").locator(".delay")).toHaveCount(2);
  await expect(row(page, "check").locator(".bar")).toHaveCount(3);
  await expect(row(page, "check").getByTitle(/^\d+ ms of delay before attempt [23]$/)).toHaveCount(2);
  await expect(row(page, "check").getByTitle(/^attempt 3: error, /)).toHaveCount(1);
  await expect(row(page, "tell").locator(".delay")).toHaveCount(0);
  await expect(row(page, "pause").locator("[data-waited]")).toHaveCount(1);
  await row(page, "guard").click();
  const inspector = page.getByRole("region", { name: "Run of the task" });
  await expect(inspector.getByRole("heading", { name: "Attempts" })).toBeVisible();
  await expect(inspector.locator(".attempts").getByRole("listitem")).toHaveText([
    /^attempt 1 \d+ ms$/,
    /^delay \d+ ms$/,
    /^attempt 2 \d+ ms$/,
    /^delay \d+ ms$/,
    /^attempt 3 \d+ ms$/,
  ]);
  await inspect("execution-attempts");
});
