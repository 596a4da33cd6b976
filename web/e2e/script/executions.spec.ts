import type { Page } from "@playwright/test";
import { carryOn, expect, test } from "../harness.ts";
import { apply, greets, refuse, run } from "../workflows.ts";

const fails = [{ refuse: refuse() }];

const rows = (page: Page) => page.getByRole("table", { name: "Executions" }).locator("tbody tr");

test("a person finds a failure by filter, opens it, goes back, and everything is there @keyboard", async ({
  page,
  admin,
  member,
  hand,
  inspect,
}) => {
  const [good, bad] = [await apply(admin, greets), await apply(admin, fails)];
  await run(admin, good, { name: "Ada" });
  const failed = await run(admin, bad);

  // The address that was asked for is there again after the sign-in.
  await page.goto(`/executions?filter=workflow:${bad.name}`);
  await expect(page).toHaveURL(/\/sign-in\?return=/);
  await hand.fill("E-mail", member.email);
  await hand.fill("Password", member.password);
  await hand.press("Sign in");
  await expect(page).toHaveURL(`/executions?filter=workflow:${bad.name}`);
  await expect(page).toHaveTitle("Executions – Chargehand");
  await expect(rows(page)).toHaveCount(1);

  await hand.fill("Filter", `state:error workflow:${bad.name} from:-1h`);
  await hand.press("Apply");
  const filtered = `/executions?filter=state:error+workflow:${bad.name}+from:-1h`;
  await expect(page).toHaveURL(filtered);
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText("error");
  await expect(rows(page)).toContainText("Refused by Anna");
  await inspect("executions");

  await hand.follow(bad.name);
  await expect(page).toHaveURL(`/executions/${failed}`);
  await expect(page.getByRole("heading", { level: 1 })).toContainText(failed.slice(-8));
  await inspect("execution");
  await page.goBack();
  await expect(page).toHaveURL(filtered);
  await expect(page.getByLabel("Filter", { exact: true })).toHaveValue(`state:error workflow:${bad.name} from:-1h`);
  await expect(rows(page).getByRole("link")).toBeFocused();
  await page.reload();
  await expect(rows(page)).toHaveAttribute("aria-current");
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("what is new waits until the person asks for it", async ({ page, admin, member, signIn, hand, inspect }) => {
  const workflow = await apply(admin, greets);
  await signIn(member);
  await page.goto(`/executions?filter=workflow:${workflow.name}`);
  await expect(page.getByText("No executions match.")).toBeVisible();
  await inspect("executions-none");
  await run(admin, workflow, { name: "Ada" });
  await hand.press("1 new");
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText("finished");
});

test("a filter that cannot be says so, and a page that is not there too", async ({
  page,
  admin,
  member,
  signIn,
  inspect,
}) => {
  await signIn(member);
  await page.goto("/executions?filter=colour:red");
  await expect(page.getByRole("alert")).toContainText("There is no filter colour:");
  await inspect("executions-wrong");
  // What an address has beyond that is left out, wherever it comes from.
  const id = await run(admin, await apply(admin, greets), { name: "Ada" });
  for (const [address, shown] of [
    ["/?span=constructor&env=no", page.getByRole("link", { name: "24 h" })],
    [`/executions/${id}?tab=no&seq=no&pass=no&zoom=no&with=no&show=no`, page.getByRole("tree", { name: "Tasks" })],
    ["/executions?group=no&more=no", page.getByRole("table", { name: "Executions" })],
    ["/workflows?drafts=no&more=no", page.getByRole("table", { name: "Workflows" })],
    ["/inbox?view=no&more=no", page.getByRole("heading", { name: "Inbox" })],
  ] as const) {
    await page.goto(address);
    await expect(shown.first()).toBeVisible();
    await expect(page.getByRole("alert")).toHaveCount(0);
  }
  await page.goto("/nothing/here");
  await expect(page.getByRole("heading", { name: "There is no such page" })).toBeVisible();
  await inspect("not-found");
});

test("commands, languages and colours", async ({ page, member, signIn, inspect }) => {
  await signIn(member);
  await page.goto("/executions");
  await expect(page.getByRole("heading", { name: "Executions" })).toBeVisible();
  await page.keyboard.press("ControlOrMeta+k");
  const field = page.getByRole("combobox", { name: "Name of a page or command" });
  await expect(field).toBeFocused();
  await inspect("palette");
  await field.fill("Deutsch");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Ausführungen" })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
  await inspect("executions-german");
  await page.getByRole("button", { name: /^Konto von/ }).click();
  await expect(page.getByRole("dialog", { name: /^Konto von/ })).toBeVisible();
  await inspect("account-menu");
  await page.getByLabel("Farben").selectOption("dunkel");
  await expect(page.locator("html")).toHaveCSS("color-scheme", "dark");
  await page.getByLabel("Farben").focus(); // paper shows no menu: looking at it as printed has taken the focus
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Auf jeder Seite");
  await inspect("keys");
});

test("a session that ends takes nothing away", async ({ page, context, member, signIn, watch, inspect }) => {
  await signIn(member);
  await page.goto("/executions");
  await expect(page.getByRole("heading", { name: "Executions" })).toBeVisible();
  await page.getByLabel("Filter", { exact: true }).fill("typed and not sent");
  await context.clearCookies();
  await expect(page.getByRole("dialog", { name: "Your session has ended" })).toBeVisible();
  await inspect("session-ended");
  await signIn(member);
  await carryOn(page);
  await expect(page.getByLabel("Filter", { exact: true })).toHaveValue("typed and not sent");
  const found = watch.take();
  expect(found.filter((line) => !line.startsWith("401 for "))).toEqual([]);
});

test("a link to the other environment that is only pointed at changes nothing", async ({
  page,
  admin,
  member,
  signIn,
  watch,
}) => {
  const workflow = await apply(admin, greets);
  await run(admin, workflow, { name: "Ada" });
  await signIn(member);
  await page.goto(`/executions?filter=workflow:${workflow.name}`);
  await expect(rows(page)).toHaveCount(1);
  const other = page.getByRole("navigation", { name: "Environment" }).getByRole("link", { name: "test" });
  await other.hover();
  await other.focus();
  await page.evaluate(() => new Promise((over) => setTimeout(over, 300))); // the router waits 50 ms before it loads
  const asked = page.waitForRequest((request) => request.url().includes("/api/v1/executions"));
  await page.getByRole("heading", { name: "Executions" }).click();
  await page.keyboard.press("r");
  expect((await asked).headers()["chargehand-environment"]).toBe("live");
  const shown = page.waitForResponse(
    (response) =>
      response.url().includes("/api/v1/executions") &&
      response.request().headers()["chargehand-environment"] === "test",
  );
  await other.click();
  await expect(page).toHaveURL(/env=test/);
  await shown;
  await expect(rows(page).filter({ hasText: workflow.name })).toHaveCount(0); // others run in test, too
  // An action on many executions belongs to their list.
  await page.goto("/operations/00000000-0000-7000-8000-000000000000");
  await expect(other).toHaveAttribute("href", "/executions?env=test");
  await expect(page.getByRole("alert")).toBeVisible(); // it is not to be seen by a viewer
  expect(watch.take()).toEqual([expect.stringContaining("403 for ")]);
});
