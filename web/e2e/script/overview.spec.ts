import { expect, test } from "../harness.ts";
import { answerWith } from "../hold.ts";
import { Admin, someone } from "../people.ts";
import { apply, greets, numbered, refuse, run, runBatch, waits } from "../workflows.ts";

test("the overview of a new server says how to begin, until a workflow has run", async ({
  page,
  fresh,
  hand,
  inspect,
}) => {
  const server = await fresh();
  const admin = await Admin.of(server);
  await admin.enter(page.context());
  await page.goto(server.url);
  const steps = page.getByRole("region", { name: "First steps" });
  await expect(steps.getByRole("listitem")).toHaveCount(3);
  await expect(steps.getByText("chargehand workflows apply examples/hello.yaml")).toBeVisible();
  await expect(page.getByText("No batch is running.")).toBeVisible();
  await inspect("overview-empty");

  await expect(steps.getByRole("link", { name: "New workflow" })).toHaveAttribute("href", "/workflows/new");
  const workflow = await apply(admin, greets);
  await page.reload();
  await expect(steps.getByText(`chargehand run ${workflow.name}`)).toBeVisible();
  await hand.follow(`Run ${workflow.name}`);
  await expect(page).toHaveURL(`${server.url}/workflows/${workflow.name}?tab=run`);
  await run(admin, workflow, { name: "Ada" });
  await page.goto(server.url);
  await expect(page.getByRole("region", { name: "Now" })).toBeVisible();
  await expect(page.getByText(/^As of|No workflow has run in this time/).first()).toBeVisible();
  await expect(steps).toHaveCount(0);
});

test("a person sees what failed and what runs, and goes to it", async ({ page, fresh, hand, inspect }) => {
  const server = await fresh();
  const admin = await Admin.of(server);
  const [good, bad] = [await apply(admin, greets), await apply(admin, [{ refuse: refuse() }])];
  const open = await apply(admin, waits);
  await run(admin, good, { name: "Ada" });
  const failed = await run(admin, bad);
  await admin.call("POST", `/workflows/${open.id}/executions`, { input: {} });
  await runBatch(admin, open, numbered(3), { wait: "0s", concurrency: 5 });
  await admin.enter(page.context());

  await page.goto(server.url);
  await expect(page.getByRole("heading", { name: "Overview", level: 1 })).toBeVisible();
  // Counts follow the executions after a while, and the page asks again.
  const totals = page.getByRole("region", { name: "Ended in this time" });
  await expect(totals.locator(".totals")).toContainText("error 1");
  await expect(totals.locator(".totals")).toContainText("finished 1");
  await expect(page.getByRole("region", { name: "Now" }).getByText("4", { exact: true })).toBeVisible();
  await expect(page.getByRole("region", { name: "Batches running" })).toContainText("0 %");
  await expect(totals.locator(".bars a")).toHaveCount(25);
  await page.getByText("As a table").click();
  await inspect("overview");
  await page.getByText("As a table").click();

  await hand.follow("7 days");
  await expect(page).toHaveURL(`${server.url}/?span=7d`);
  await expect(totals.locator(".bars a")).toHaveCount(29);
  await hand.follow(`1 failure · ${bad.name}`);
  const rows = page.getByRole("table", { name: "Executions" }).locator("tbody tr");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText(failed.slice(-8));
  await page.goBack();
  await expect(page).toHaveURL(`${server.url}/?span=7d`);
  // It is the last bar, or the one before where a bar has begun since.
  await totals.getByRole("link", { name: /, 1 in error,/ }).click();
  await expect(page).toHaveURL(/filter=from:/);
  await expect(rows.filter({ hasText: failed.slice(-8) })).toHaveCount(1);
});

test("a person who may not read executions reads why, and a failing server says so", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  const outsider = someone("Alan Turing");
  await admin.admit(outsider, []);
  await signIn(outsider);
  await page.goto("/");
  await expect(page.getByRole("alert").first()).toContainText("You may not see this");
  await inspect("overview-forbidden");
  expect(watch.take().filter((line) => !line.startsWith("403 for "))).toEqual([]);

  await signIn(member);
  await answerWith(page, "**/api/v1/overview?*", { status: 500 });
  await page.reload();
  await expect(page.getByRole("alert").first()).toContainText("Spoiled with 500");
  await inspect("overview-failing");
  expect(watch.take().filter((line) => !line.startsWith("500 for "))).toEqual([]);
});
