import { chmod } from "node:fs/promises";
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
  const failing = page.getByRole("table", { name: "Workflows with the most failures" });
  await expect(failing.locator("tbody tr")).toHaveCount(1);
  await expect(failing.getByRole("row", { name: bad.name })).toContainText(/1\s*1$/);
  const slowest = page.getByRole("table", { name: "Workflows that took longest" });
  await expect(slowest.locator("tbody tr")).toHaveCount(2);
  await expect(slowest.getByRole("row", { name: good.name })).toContainText(/ms|s/);
  await page.getByText("As a table").click();
  await inspect("overview");
  await page.getByText("As a table").click();

  await hand.follow("7 days");
  await expect(page.getByRole("navigation", { name: "Time" }).locator("[aria-current]")).toHaveText(["7 days"]);
  await expect(page).toHaveURL(`${server.url}/?span=7d`);
  await expect(totals.locator(".bars a")).toHaveCount(29);
  await hand.follow(`1 failure · ${bad.name}`);
  const rows = page.getByRole("table", { name: "Executions" }).locator("tbody tr");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText(failed.slice(-8));
  await page.goBack();
  await expect(page).toHaveURL(`${server.url}/?span=7d`);
  await failing.getByRole("link", { name: bad.name }).click();
  await expect(page).toHaveURL(/filter=workflow:.*state:error.*from:/);
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText(failed.slice(-8));
  await page.goBack();
  await slowest.getByRole("link", { name: good.name }).click();
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("finished");
  await page.goBack();
  // It is the last bar, or the one before where a bar has begun since.
  await totals.getByRole("link", { name: /, 1 in error,/ }).click();
  await expect(page).toHaveURL(/filter=from:/);
  await expect(rows.filter({ hasText: failed.slice(-8) })).toHaveCount(1);
});

test("the overview tells those who see its health that something is wrong with the installation", async ({
  page,
  fresh,
  hand,
  inspect,
}) => {
  const server = await fresh();
  const admin = await Admin.of(server);
  await run(admin, await apply(admin, greets), { name: "Ada" });
  let asked = 0;
  page.on("request", (request) => (asked += new URL(request.url()).pathname.endsWith("/system") ? 1 : 0));
  await chmod(server.folder, 0o777);
  await admin.enter(page.context());
  await page.goto(server.url);
  await expect(page.getByRole("list", { name: "Installation" })).toContainText("wrong with the installation");
  expect(asked).toBe(1);
  await expect(page.getByText("No workflow failed in this time.")).toBeVisible();
  await inspect("overview-wrong");
  await page.route("**/api/v1/system", async (route) => {
    const json = { ...(await (await route.fetch()).json()), storage_reserve: true };
    await route.fulfill({ json });
  });
  await page.reload();
  await hand.follow("A disk has less free space than its reserve: new executions and uploads are refused");
  await expect(page).toHaveURL(`${server.url}/admin/health`);
  await page.unrouteAll();
  await chmod(server.folder, 0o700);
  const looked = page.getByRole("table", { name: "What was looked at" });
  await expect(looked.getByRole("row", { name: /^data directory/ })).toContainText("as it should be");
  await page.goto(server.url);
  await expect(page.getByRole("region", { name: "Now" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Installation" })).toHaveCount(0);
});

test("an admin of an account that does not run the installation is led to no health, and asks for none", async ({
  page,
  admin,
}) => {
  await admin.enter(page.context());
  await page.route("**/api/v1/me", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), installation: false } });
  });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto("/");
  await expect(page.getByRole("region", { name: "Now" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Users" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Health" })).toHaveCount(0);
  expect(asked).toContain("/api/v1/me");
  expect(asked).not.toContain("/api/v1/system");
});

test("a person who may not read executions reads why, and a failing server says so", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  page.on("request", (request) => expect(request.url()).not.toContain("/api/v1/system"));
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
