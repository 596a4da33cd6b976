import { expect, test } from "../harness.ts";
import { holdBack } from "../hold.ts";
import { full } from "../measure.ts";
import { apply, numbered, refuse, run, runBatch, waits } from "../workflows.ts";

/** A batch has 10,000 items at most. */
const batches = full ? [6000, 6000] : [120];
const total = batches.reduce((sum, size) => sum + size, 0);

test("a person cancels all executions that match a filter, and sees what became of them", async ({
  page,
  admin,
  enter,
  hand,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, waits);
  const other = await run(admin, workflow, {}, "0s");
  for (const size of batches) {
    await runBatch(admin, workflow, numbered(size), { wait: "0s" });
  }
  await enter("operator", "Alan Turing");
  await page.goto(`/executions?filter=workflow:${workflow.name}+cause:batch`);
  const links = page.locator("[data-row]");
  await links.nth(2).focus();
  await page.keyboard.press("x");
  await page.keyboard.press("k");
  await page.keyboard.press("k");
  await page.keyboard.press("Shift+X");
  await expect(page.getByText("3 selected")).toBeVisible();
  await inspect("executions-selected");
  // What is selected is there again after an execution was opened, and after the page was loaded again.
  await links.nth(1).press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Execution");
  await page.goBack();
  await expect(page.getByText("3 selected")).toBeVisible();
  await page.reload();
  await expect(page.getByText("3 selected")).toBeVisible();
  await hand.press("Select all that match the filter");
  await hand.press("Cancel");
  const count = total.toLocaleString("en");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText(`cancel ${count} executions`);
  const typed = String(total);
  await hand.fill(`Type ${typed} to continue`, "7");
  await hand.press("Cancel executions");
  await expect(dialog).toContainText(`This is not ${typed}.`);
  await inspect("operation-asked");
  await hand.fill(`Type ${typed} to continue`, typed);
  // A server that is gone for a moment takes nothing away.
  await page.route("**/api/v1/operations", (route) => route.abort(), { times: 1 });
  await hand.press("Cancel executions");
  await expect(dialog.getByRole("alert")).toContainText("The server cannot be reached.");
  expect(watch.take().filter((line) => !line.startsWith("a request that failed: "))).toEqual([]);
  const held = [
    await holdBack(page, "**/api/v1/operations?*", "GET"),
    await holdBack(page, "**/api/v1/operations/*", "GET"),
  ];
  await hand.press("Cancel executions");
  await expect(page).toHaveURL(/\/operations\//);
  const address = page.url();
  // Until the page hears that it has ended, it is under way, wherever the person goes.
  const underWay = page.getByRole("button", { name: "1 operation under way" });
  await hand.follow("Inbox");
  await expect(page).toHaveURL(/\/inbox/);
  await hand.press("1 operation under way");
  await expect(page.getByRole("list", { name: "1 operation under way" })).toBeVisible();
  await inspect("operation-under-way");
  await hand.follow("Cancel executions");
  await expect(page).toHaveURL(address);
  await expect(page.getByRole("list", { name: "1 operation under way" })).toBeHidden();
  await expect(underWay).toBeVisible();
  await Promise.all(held.map((release) => release()));
  await expect(page.getByRole("status").filter({ hasText: "completed" })).toBeVisible({ timeout: total * 50 + 30_000 });
  await expect(page.getByText(`${count} of ${count} executions`)).toBeVisible();
  await expect(page.getByRole("progressbar")).toHaveAttribute("aria-valuenow", String(total));
  await expect(underWay).toHaveCount(0);
  await inspect("operation");
  await hand.follow("To the executions");
  // A page that is loaded while it is under way asks for it. Here the answer says that all operations are.
  await page.route("**/api/v1/operations?*", async (route) => {
    const response = await route.fetch();
    const { data, cursor } = (await response.json()) as { data: object[]; cursor: string | null };
    await route.fulfill({ response, json: { data: data.map((each) => ({ ...each, status: "running" })), cursor } });
  });
  await page.goto("/inbox");
  await expect(underWay).toBeVisible();
  await page.unrouteAll({ behavior: "wait" });
  await page.goto(`/executions/${other}`);
  await expect(page.getByRole("button", { name: "Suspend" })).toBeVisible(); // it does not match, and still waits
});

test("a group of failures is retried with a later version, and what could not be is listed", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [{ refuse: refuse() }]);
  for (const input of [{ name: "Ada" }, { n: 1 }, { n: 2 }]) {
    await run(admin, workflow, input);
  }
  const [namespace, name] = workflow.name.split("/");
  const schema = { type: "object", required: ["name"], properties: { name: { type: "string" } } };
  await admin.call("POST", "/workflows", {
    document: { dsl: "1.0.3", namespace, name, version: "1.1.0" },
    input: { schema: { format: "json", document: schema } },
    do: [{ greet: { set: { greeting: "${ .name }" } } }],
  });
  await enter("operator", "Alan Turing");
  await page.goto(`/executions?filter=workflow:${workflow.name}&group=cause`);
  await hand.press("Retry these");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("This would retry 3 executions.");
  await dialog.getByLabel("Version").selectOption("the one that is published now");
  await inspect("operation-retry");
  await hand.press("Retry executions");
  await expect(page.getByRole("status").filter({ hasText: "completed" })).toBeVisible();
  await expect(page.getByRole("table", { name: "What failed" }).locator("tbody tr")).toHaveCount(2);
  await inspect("operation-failures");
  await hand.follow("To the executions");
  await page.goto(`/executions?filter=workflow:${workflow.name}+state:finished`);
  await expect(page.locator("[data-row]")).toHaveCount(1);
});
