import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect, test } from "../harness.ts";
import { scrollUntil } from "../time.ts";
import { apply, greets, refuse, run, runBatch } from "../workflows.ts";

const list = (page: Page) => page.getByRole("table", { name: "Executions" });
const rows = (page: Page) => list(page).locator("tbody tr:not(.space)");

test("a list of hundreds has few rows in the page, and is as it was after going back and loading it again", async ({
  page,
  browser,
  admin,
  member,
  signIn,
}) => {
  const workflow = await apply(admin, greets);
  const items = Array.from({ length: 180 }, (_, i) => ({ name: `n${i}` }));
  await runBatch(admin, workflow, items);
  await signIn(member);
  const address = `/executions?filter=workflow:${workflow.name}`;
  await page.goto(address);
  await expect(rows(page).first()).toBeVisible();
  await page.getByRole("button", { name: "Count", exact: true }).click();
  await expect(page.getByText("180 executions")).toBeVisible();
  // The next pages come as they are scrolled to.
  await scrollUntil(page, (soon) => expect(page.getByText("These are all.")).toBeInViewport(soon));
  await expect(list(page)).toHaveAttribute("aria-rowcount", "181");
  expect(await rows(page).count()).toBeLessThanOrEqual(60);
  await page.mouse.wheel(0, -1500);
  await expect(page.getByText("These are all.")).not.toBeInViewport();
  const place = () => page.evaluate(() => Math.round(scrollY));
  // A wheel moves the page for a while; where it was left is where it comes to rest.
  const moved = async () => {
    const before = await place();
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    return (await place()) - before;
  };
  await expect.poll(moved).toBe(0);
  const middle = await rows(page).nth(15).locator("[data-row]").getAttribute("data-row");
  const seen = page.locator(`[data-row="${middle}"]`);
  await seen.click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Execution");
  // The list that was left says nothing of the place of what came after it.
  await expect(list(page)).toHaveCount(0);
  const next = () =>
    page.evaluate(() => sessionStorage.getItem(`chargehand-list:${(history.state as { key: string }).key}`));
  expect(await next()).toBeNull();
  await page.goBack();
  await expect(list(page)).toHaveAttribute("aria-rowcount", "181");
  await expect(seen).toBeFocused();
  const top = await place();
  expect(top).toBeGreaterThan(1000);
  await page.reload();
  await expect(list(page)).toHaveAttribute("aria-rowcount", "181");
  await expect.poll(async () => Math.abs((await place()) - top)).toBeLessThan(33); // less than a row
  await expect(seen).toBeInViewport();
  expect(await rows(page).count()).toBeLessThanOrEqual(60);
  // The address says what is shown, to another browser too.
  const other = await browser.newContext({ storageState: await page.context().storageState() });
  const second = await other.newPage();
  await second.goto(page.url());
  await expect(rows(second).first()).toBeVisible();
  await expect(second.getByLabel("Filter", { exact: true })).toHaveValue(`workflow:${workflow.name}`);
  await other.close();
});

test("failures are grouped by cause, and a group leads to what is in it", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [
    { late: refuse({ detail: "Order 4711 is late." }, { if: "${ .n < 2 }" }) },
    { gone: refuse({ detail: "It is gone." }) },
  ]);
  for (const n of [1, 1, 1, 3]) {
    await run(admin, workflow, { n });
  }
  await signIn(member);
  await page.goto(`/executions?filter=workflow:${workflow.name}`);
  await hand.press("Group by cause");
  await expect(page).toHaveURL(/group=cause/);
  const groups = page.getByRole("table", { name: "Failures by cause" }).locator("tbody tr");
  await expect(groups).toHaveCount(2);
  await expect(groups.first()).toContainText("late");
  await inspect("executions-causes");
  await hand.follow("Show these 3");
  await expect(rows(page)).toHaveCount(3);
  await expect(page).toHaveURL(/failure:/);
  await expect(rows(page).first()).toContainText("Order 4711 is late.");
  // A viewer may look, and act on nothing.
  await expect(page.getByRole("checkbox")).toHaveCount(0);

  // From an execution to its neighbours in the list, and back to the list.
  const listed = page.url();
  const ids = await list(page)
    .locator("[data-row]")
    .evaluateAll((links) => links.map((link) => link.getAttribute("data-row")));
  await page.keyboard.press("j");
  await expect(list(page).locator(`[data-row="${ids[0]}"]`)).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`/executions/${ids[0]}`);
  await expect(page.getByRole("link", { name: "Previous in the list" })).toHaveCount(0);
  await hand.follow("Next in the list");
  await expect(page).toHaveURL(`/executions/${ids[1]}`);
  await page.keyboard.press("]");
  await expect(page).toHaveURL(`/executions/${ids[2]}`);
  await page.keyboard.press("[");
  await expect(page).toHaveURL(`/executions/${ids[1]}`);
  await page.goBack();
  await expect(page).toHaveURL(listed);
});

test("what matches a filter is saved as a file, all pages of it", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, greets);
  const items = Array.from({ length: 103 }, (_, i) => ({ name: `n${i}` }));
  await runBatch(admin, workflow, items);
  await run(admin, workflow, { name: "Ada" }); // which the filter leaves out
  await signIn(member); // who may look only
  await page.goto(`/executions?filter=workflow:${workflow.name}+cause:batch`);
  await expect(rows(page).first()).toBeVisible();
  await hand.press("Export");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("All that match the filter, newest first.");
  await expect(dialog).toContainText("up to 10,000 lines");
  await inspect("executions-export");

  // A server that is gone for a moment takes nothing away but the attempt.
  const start = dialog.getByRole("button", { name: "Export", exact: true });
  await page.route(/executions\?.*cursor=/u, (route) => route.abort(), { times: 1 });
  await start.click();
  await expect(dialog.getByRole("alert")).toContainText("The server cannot be reached.");
  expect(watch.take().filter((line) => !line.startsWith("a request that failed: "))).toEqual([]);
  await inspect("executions-export-failed");
  const saved = async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), start.click()]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
  };
  const csv = await saved();
  await expect(dialog.getByRole("status").filter({ hasText: "103 executions saved." })).toBeVisible();
  expect(csv.name).toBe("executions.csv");
  const lines = csv.text.trimEnd().split("\r\n");
  expect(lines[0]).toMatch(/^id,workflow,workflow_version,status,/u);
  expect(lines).toHaveLength(104);
  expect(new Set(lines.slice(1).map((line) => line.split(",")[0])).size).toBe(103);
  await dialog.getByLabel("Format").selectOption("jsonl");
  const jsonl = await saved();
  expect(jsonl.name).toBe("executions.jsonl");
  const read = jsonl.text.trimEnd().split("\n");
  const values = read.map((line) => JSON.parse(line) as { cause: { kind: string }; input: { name: string } });
  expect(new Set(values.map(({ cause }) => cause.kind))).toEqual(new Set(["batch"]));
  expect(values.map(({ input }) => input.name).toSorted()).toEqual(items.map(({ name }) => name).toSorted());
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Export", exact: true })).toBeFocused();

  // Of more than an export has, the newest are saved, and it says so. One that is closed asks no further.
  const [first] = read;
  let pages = 0;
  let hold = false;
  await page.route(/executions\?.*limit=100\b/u, async (route) => {
    pages++;
    const data = Array.from({ length: 100 }, () => JSON.parse(first ?? "") as unknown);
    await (hold ? new Promise(() => {}) : route.fulfill({ json: { data, cursor: `c${pages}` } }));
  });
  await hand.press("Export");
  expect((await saved()).text.trimEnd().split("\r\n")).toHaveLength(10_001);
  await expect(dialog).toContainText("There are older ones: narrow the filter");
  expect(pages).toBe(100);
  hold = true;
  await start.click();
  await expect(dialog.getByRole("status").filter({ hasText: "0 executions read" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  expect(pages).toBe(101);
  expect(watch.take().filter((line) => !line.startsWith("a request that failed: "))).toEqual([]);

  await page.goto(`/executions?filter=workflow:${workflow.name}+cause:schedule`);
  await hand.press("Export");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await start.click();
  await expect(dialog).toContainText("no file was saved");
});

test("the executions that are selected are saved as a file", async ({ page, admin, enter, hand, watch, inspect }) => {
  const workflow = await apply(admin, greets);
  const ids: string[] = [];
  for (const name of ["=1+1", "Ada", "Barbara", "Grace"]) {
    ids.push(await run(admin, workflow, { name })); // oxlint-disable-line no-await-in-loop
  }
  const [oldest = "", second = "", third = ""] = ids;
  await enter("operator", "Alan Turing");
  await page.goto(`/executions?filter=workflow:${workflow.name}`);
  await expect(rows(page)).toHaveCount(4);
  for (const id of [oldest, third, second]) {
    // oxlint-disable-next-line no-await-in-loop
    await list(page)
      .locator("tr", { has: page.locator(`[data-row="${id}"]`) })
      .getByRole("checkbox")
      .press("Space");
  }
  const bar = page.getByRole("region", { name: "Selected executions" });
  await expect(bar).toContainText("3 selected");
  // Escape closes what was opened last, and nothing behind it.
  await hand.press("Views");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("group", { name: "Views" })).toHaveCount(0);
  await expect(bar).toContainText("3 selected");
  // Of all, one is taken out.
  await hand.press("Select all that match the filter");
  await expect(bar).toContainText("All that match the filter are selected");
  await rows(page).first().getByRole("checkbox").press("Space");
  await expect(bar).toContainText("3 selected");
  await bar.getByRole("button", { name: "Export" }).press("Enter");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("The 3 executions that are selected, newest first.");
  await inspect("executions-export-selected");
  const start = dialog.getByRole("button", { name: "Export", exact: true });
  const saved = async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), start.click()]);
    return readFile(await file.path(), "utf8");
  };
  const csv = (await saved()).trimEnd().split("\r\n");
  expect(csv[0]).toMatch(/^id,workflow,/u);
  expect(csv.slice(1).map((line) => line.split(",")[0])).toEqual([third, second, oldest]);
  await expect(dialog.getByRole("status").filter({ hasText: "3 executions saved." })).toBeVisible();

  // What was deleted meanwhile is left out, and it says so. What has been put out is in no file.
  await admin.call("DELETE", `/workflows/${workflow.id}/executions/${second}`);
  await dialog.getByLabel("Format").selectOption("jsonl");
  const lines = (await saved()).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({ id: third, input: { name: "Barbara" } }),
    expect.objectContaining({ id: oldest, input: { name: "=1+1" } }),
  ]);
  expect(lines.join("")).not.toContain('"output"');
  await expect(dialog).toContainText("2 executions saved. 1 is no longer there.");
  expect(watch.take()).toEqual([expect.stringContaining("404 for ")]);

  // Closing the dialog leaves the selection as it is.
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(bar).toContainText("3 selected");
  await expect(bar.getByRole("button", { name: "Export" })).toBeFocused();
  await hand.press("Select all that match the filter");
  await bar.getByRole("button", { name: "Export" }).press("Enter");
  await expect(dialog).toContainText("All that match the filter, newest first.");
  expect((await saved()).trimEnd().split("\r\n")).toHaveLength(4); // the names, and the three that are left
});

test("columns and views are kept, and the filter is suggested", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, greets);
  await admin.call("POST", `/workflows/${workflow.id}/executions?wait=30s`, {
    input: { name: "Ada" },
    labels: { customer: "ada-lovelace" },
  });
  await signIn(member);
  await page.goto(`/executions?filter=workflow:${workflow.name}`);
  await hand.press("Columns");
  await inspect("executions-columns");
  await page.getByRole("checkbox", { name: "Labels" }).press("Space");
  await expect(list(page).getByRole("columnheader", { name: "Labels" })).toBeVisible();
  for (const name of ["Error code", "Batch", "Item"]) {
    await page.getByRole("checkbox", { name }).press("Space");
    await expect(list(page).getByRole("columnheader", { name })).toBeVisible();
  }
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Columns" })).toBeFocused();
  // However many there are, each can be read.
  const narrow = () =>
    list(page)
      .getByRole("columnheader")
      .evaluateAll((all) => all.filter((head) => head.scrollWidth > head.clientWidth || head.clientWidth < 50).length);
  await expect.poll(narrow).toBe(0);
  await inspect("executions-all-columns");

  const filter = page.getByLabel("Filter", { exact: true });
  await filter.fill(`workflow:${workflow.name} label:`);
  await expect(page.getByRole("option", { name: "label:customer=ada-lovelace" })).toBeVisible();
  await inspect("executions-suggestions");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(filter).toHaveValue(`workflow:${workflow.name} label:customer=ada-lovelace `);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/label:customer/);
  await expect(rows(page)).toHaveCount(1);

  await hand.press("Views");
  await hand.fill("Name of this view", "Ada's");
  await hand.press("Keep this view");
  await expect(page.getByRole("link", { name: "Ada's" })).toBeVisible();
  await inspect("executions-views");
  await page.keyboard.press("Escape");
  await hand.press("Clear the filters");
  await page.reload();
  await expect(list(page).getByRole("columnheader", { name: "Labels" })).toBeVisible();
  await hand.press("Views");
  await hand.follow("Ada's");
  await expect(page).toHaveURL(/label:customer/);

  // A label of an execution leads to all that have it.
  await list(page).locator("[data-row]").first().press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Execution");
  await inspect("execution-labelled");
  await hand.follow("customer=ada-lovelace");
  await expect(filter).toHaveValue("label:customer=ada-lovelace");
  await expect(rows(page)).toHaveCount(1);
});
