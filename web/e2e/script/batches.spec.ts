import { readFile } from "node:fs/promises";
import { expect, test } from "../harness.ts";
import { full } from "../measure.ts";
import { someone } from "../people.ts";
import { apply, numbered, refuse, runBatch, waits } from "../workflows.ts";

/** The largest batch that the server takes is for test/full. */
const many = full ? 10_000 : 2000;

test("a person finds a batch, sees what failed, and goes to an item", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [
    { refuse: refuse({ detail: "Refused by Anna." }, { if: "${ .number % 3 == 0 }" }) },
  ]);
  const batch = await runBatch(admin, workflow, numbered(7), { labels: { customer: "ACME" } });
  await signIn(member);

  await page.goto("/batches");
  await hand.fill("Workflow", "order");
  await hand.press("Apply");
  await expect(page.getByRole("alert")).toContainText("A workflow is namespace/name");
  await hand.fill("Workflow", workflow.name);
  await hand.press("Apply");
  await expect(page).toHaveURL(`/batches?workflow=${workflow.name}`);
  const rows = page.getByRole("table", { name: "Batches" }).locator("tbody tr");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("completed");
  await expect(rows).toContainText("100 %");
  await inspect("batches");

  await hand.follow(workflow.name);
  await expect(page).toHaveURL(`/batches/${batch.id}`);
  await expect(page.getByText("7 of 7 items")).toBeVisible();
  await expect(page.getByRole("link", { name: "customer=ACME" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Failures" })).toContainText("Refused by Anna.");
  const items = page.getByRole("table", { name: "Items of the batch" }).locator(".grid-pane [role=row]");
  await expect(items).toHaveCount(7);
  await inspect("batch-ended");

  await page.getByLabel("State").selectOption("error 3");
  await expect(page).toHaveURL(`/batches/${batch.id}?state=error`);
  await expect(items).toHaveCount(3);
  await page.getByLabel("State").selectOption("cancelled 0");
  await expect(page.getByText("No item is in this state.")).toBeVisible();
  await page.getByLabel("State").selectOption("error 3");
  await items.first().getByRole("link").click();
  await expect(page.getByText("Refused by Anna.").first()).toBeVisible();
  await page.goBack();
  await expect(page).toHaveURL(`/batches/${batch.id}?state=error`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByText("Download the items").click()]);
  expect(file.suggestedFilename()).toBe(`batch-${batch.id}.json`);
});

test("items are shown by fields of their inputs, and saved as a file by their state", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [
    { refuse: refuse({ detail: "Refused by Anna." }, { if: "${ .number % 3 == 0 }" }) },
  ]);
  const items = numbered(7).map(({ number }) => ({ number, "name, short": number === 3 ? "=1+1" : `n${number}` }));
  const batch = await runBatch(admin, workflow, items);
  await signIn(member); // who may look only
  await page.goto(`/batches/${batch.id}`);
  const grid = page.getByRole("table", { name: "Items of the batch" });
  await expect(grid.getByRole("columnheader", { name: "Input" })).toBeVisible();
  const box = (name: string) => page.getByRole("checkbox", { name });
  await hand.press("Columns");
  await box("number").press("Space");
  await box("name, short").press("Space");
  await expect(grid.getByRole("columnheader", { name: "name, short" })).toBeVisible();
  await expect(grid.getByRole("columnheader", { name: "Input" })).toHaveCount(0);
  await inspect("batch-columns");
  await page.keyboard.press("Escape");
  await page.getByLabel("State").selectOption("error 3");
  await page.reload();
  const failed = grid.locator(".grid-pane [role=row]");
  await expect(failed).toHaveCount(3);
  await expect(failed.nth(1)).toContainText("=1+1");

  await hand.press("Export");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("The items that are now in the state “error”");
  await expect(dialog).toContainText("number and name, short");
  await inspect("batch-export");
  const start = dialog.getByRole("button", { name: "Export", exact: true });
  const saved = async () => {
    const [file] = await Promise.all([page.waitForEvent("download"), start.click()]);
    return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
  };
  const csv = await saved();
  expect(csv.name).toBe(`batch-${batch.id}-items.csv`);
  const [names, ...lines] = csv.text.trimEnd().split("\r\n");
  expect(names).toBe(
    'index,item_id,execution_id,status,phase,duration_ms,inputs.number,"inputs.name, short",error_code,error_title,error_detail',
  );
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(/^3,,[-0-9a-f]{36},error,faulted,\d+,3,'=1\+1,fault,.*Refused by Anna\.$/u);
  await expect(dialog.getByRole("status").filter({ hasText: "3 items saved." })).toBeVisible();
  await dialog.getByLabel("Format").selectOption("jsonl");
  const read = (await saved()).text.trimEnd().split("\n");
  expect(read.map((line) => (JSON.parse(line) as { inputs: object }).inputs)).toEqual([items[0], items[3], items[6]]);
  await page.keyboard.press("Escape");

  await page.getByLabel("State").selectOption("cancelled 0");
  await hand.press("Export");
  await start.click();
  await expect(dialog).toContainText("no file was saved");
});

test("all items of a batch that failed in the same way are retried", async ({ page, admin, enter, hand, inspect }) => {
  const workflow = await apply(admin, [
    { early: refuse({ detail: "Too early." }, { if: "${ .number < 2 }" }) },
    { late: refuse({ detail: "Too late." }, { if: "${ .number > 3 }" }) },
  ]);
  const batch = await runBatch(admin, workflow, numbered(7));
  await enter("operator", "Alan Turing");
  await page.goto(`/batches/${batch.id}`);
  const groups = page.getByRole("region", { name: "Failures" }).getByRole("listitem");
  await expect(groups).toHaveCount(2);
  await groups.filter({ hasText: "Too late." }).getByRole("button", { name: "Retry these" }).press("Enter");
  await expect(page.getByRole("dialog")).toContainText("This would retry 3 executions.");
  await inspect("batch-retry");
  await hand.press("Retry executions");
  await expect(page).toHaveURL(/\/operations\//u);
  await expect(page.getByText("3 of 3 executions")).toBeVisible();
  const { data } = await admin.call<{ data: { batch_id?: string }[] }>(
    "GET",
    `/executions?workflow_id=${workflow.id}&cause=retry`,
  );
  expect(data.map((execution) => execution.batch_id)).toEqual([undefined, undefined, undefined]);
});

test("a long batch: the last row is as near as the first, and it is cancelled", async ({
  page,
  admin,
  signIn,
  hand,
  inspect,
}) => {
  const person = someone("Alan Turing");
  await admin.admit(person, [{ role: "operator" }]);
  const workflow = await apply(admin, waits);
  const batch = await runBatch(admin, workflow, numbered(many), { wait: "0s" });
  await signIn(person);
  await page.goto(`/batches/${batch.id}`);
  const grid = page.getByRole("table", { name: "Items of the batch" });
  const items = grid.locator(".grid-pane [role=row]");
  await expect(items.first()).toContainText('{"number":0}');
  await expect(grid).toHaveAttribute("aria-rowcount", String(many + 1));
  expect(await items.count()).toBeLessThanOrEqual(60);
  await hand.fill("Go to item", String(many * 0.8));
  await hand.press("Go");
  await expect(grid.getByText(JSON.stringify({ number: many * 0.8 - 1 }))).toBeVisible();
  expect(await items.count()).toBeLessThanOrEqual(60);
  await inspect("batch-running");

  // Arrow keys move among the items; for Tab the whole grid is one stop.
  await grid.getByRole("rowgroup", { name: "Items of the batch" }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await expect(items.locator("a:focus")).toHaveCount(1);
  await page.keyboard.press("Tab");
  await expect(items.locator("a:focus")).toHaveCount(0);

  await hand.press("Cancel");
  await hand.fill("Reason", "Wrong file");
  await inspect("batch-cancel");
  await hand.press("Cancel the batch");
  // The stream carries each change.
  const all = many.toLocaleString("en");
  await expect(page.getByText(`${all} of ${all} items`)).toBeVisible({ timeout: 30_000 + many * 20 });
  await expect(page.getByText("cancelled").first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Cancel" })).toHaveCount(0);
});

test("items in one state are those that are in it now", async ({ page, admin, member, signIn }) => {
  const workflow = await apply(admin, waits);
  const batch = await runBatch(admin, workflow, numbered(3), { wait: "0s" });
  const { data: waiting } = await admin.call<{ data: { id: string }[] }>("GET", `/executions?batch_id=${batch.id}`);
  await signIn(member);
  await page.goto(`/batches/${batch.id}?state=waiting`);
  const items = page.getByRole("table", { name: "Items of the batch" }).locator(".grid-pane [role=row]");
  await expect(items).toHaveCount(3);
  await admin.call("POST", `/workflows/${workflow.id}/executions/${waiting[0]?.id}/cancel`, {});
  await expect(items).toHaveCount(2);
  await page.getByLabel("State").selectOption("cancelled 1");
  await expect(items).toHaveCount(1);
});

test("who has no batch reads what a batch is, and one that is not there says so", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  await signIn(member);
  const workflow = await apply(admin, waits);
  await page.goto(`/batches?workflow=${workflow.name}`);
  await expect(page.getByText("This workflow has no batch.")).toBeVisible();
  await inspect("batches-none");
  await page.goto("/batches?workflow=shop/unknown");
  await expect(page.getByText("There is no workflow shop/unknown, or you may not see it.")).toBeVisible();
  await page.goto("/batches/019c13f3-1d3f-7a11-8c2d-0b9e7f6a5d10");
  await expect(page.getByRole("alert")).toBeVisible();
  await inspect("batch-missing");
  const outsider = someone("Alan Turing");
  await admin.admit(outsider, []);
  await signIn(outsider);
  await page.goto("/batches");
  await expect(page.getByRole("alert")).toContainText("You may not see this");
  await inspect("batches-forbidden");
  expect(watch.take().filter((line) => !/^40[34] for /.test(line))).toEqual([]);
});
