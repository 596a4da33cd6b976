// What pages do while the person is away, and while the server is.
import type { Page } from "@playwright/test";
import { expect, test } from "./harness.ts";
import { Admin, someone } from "./people.ts";
import { ask, asking } from "./tasks.ts";
import { passTimeUntil } from "./time.ts";
import { apply, greets, numbered, run, runBatch, waits } from "./workflows.ts";

/** After so long without a key or pointer, a page is idle, and asks each of its questions once a minute at most. */
const idleAfter = 5 * 60_000;
const minutes = 10;

test("an idle page has one stream, and asks once a minute", async ({ page, fresh, faults, signIn }) => {
  const server = await fresh();
  faults.server = server;
  const admin = await Admin.of(server);
  const workflow = await apply(admin, waits);
  const execution = await run(admin, workflow, {}, "0s");
  const batch = await runBatch(admin, workflow, numbered(3), { wait: "0s" });
  const person = someone("Grace Hopper");
  await admin.admit(person, [{ role: "admin" }]);
  const { id: task } = await ask(
    admin,
    await asking(admin, { title: "Approve", assignees: { users: [person.email] } }),
  );
  await signIn(person, faults);
  await page.clock.install();

  const main = page.getByRole("main");
  const screens = {
    "/": main.getByText(/^As of/),
    "/executions": main.getByRole("table", { name: "Executions" }),
    [`/executions/${execution}`]: main.getByRole("tree"),
    "/batches": main.getByRole("table", { name: "Batches" }),
    [`/batches/${batch.id}`]: main.getByText("0 of 3 items"),
    "/inbox": main.getByRole("region", { name: "List of tasks" }),
    [`/inbox/${task}`]: main.getByRole("article"),
    "/workflows": main.getByRole("table", { name: "Workflows" }),
    [`/workflows/${workflow.name}`]: main.getByRole("heading", { level: 1 }),
    "/admin/health": main.getByRole("table", { name: "What was looked at" }),
  };
  for (const [address, content] of Object.entries(screens)) {
    await test.step(address, async () => {
      await page.goto(faults.url + address);
      await expect(content).toBeVisible();
      await expect.poll(() => faults.streams).toBe(1);
      await page.clock.fastForward(idleAfter);
      await page.clock.runFor(15_000); // what was to be asked for before it was idle
      const before = faults.asked.length;
      for (let halves = 0; halves < 2 * minutes; halves++) {
        await page.clock.runFor(30_000);
      }
      const asked = faults.asked.slice(before).map((what) => what.split("?")[0] ?? "");
      const often = asked.filter((what) => asked.filter((other) => other === what).length > minutes + 1);
      expect([...new Set(often)], "what was asked more than once a minute").toEqual([]);
      expect(asked.filter((what) => /stream$|events$/.test(what))).toEqual([]);
      expect(faults.streams).toBe(1);
    });
  }

  // The person comes back.
  await page.goto(`${faults.url}/executions`);
  await expect(screens["/executions"]).toBeVisible();
  await page.clock.fastForward(idleAfter);
  await page.clock.runFor(15_000);
  await run(admin, workflow, {}, "0s");
  await page.mouse.move(100, 100);
  await expect(page.getByRole("button", { name: "1 new" })).toBeVisible();
});

const lost = (page: Page) => page.getByText(/^Not connected since/);

test("while the server is away nothing is sent, what is typed stays, and all continues by itself", async ({
  page,
  admin,
  faults,
  enter,
  signIn,
  watch,
}) => {
  const schema = { type: "object", required: ["name"], properties: { name: { type: "string" } } };
  const workflow = await apply(admin, greets, { input: { schema: { format: "json", document: schema } } });
  const execution = await run(admin, await apply(admin, waits), {}, "0s");
  await signIn(await enter("admin"), faults);
  await page.clock.install();
  const sent = () =>
    faults.asked.filter((what) => /^(POST|PUT|PATCH|DELETE) /.test(what) && !what.includes("validate"));
  const breakOff = async () => {
    faults.spoil(/./, "break");
    await passTimeUntil(page, async (soon) => {
      await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange"))); // it is seen again
      await expect(lost(page)).toBeVisible(soon);
    });
  };
  const mend = async () => {
    faults.heal();
    await passTimeUntil(page, (soon) => expect(lost(page)).toHaveCount(0, soon));
  };

  await test.step("a form", async () => {
    await page.goto(`${faults.url}/workflows/${workflow.name}?tab=run`);
    const name = page.getByLabel("Name", { exact: true });
    const start = page.getByRole("button", { name: "Start" });
    await name.fill("Ada");
    faults.spoil(/./, "break");
    await start.focus();
    await page.keyboard.press("Enter"); // the page does not know it yet
    await expect(lost(page)).toBeVisible();
    await expect(start).toBeDisabled();
    await expect(start).toBeFocused();
    await expect(start).toHaveAccessibleDescription(/^Not connected since/);
    const before = sent().length;
    await page.keyboard.press("Enter");
    await page.keyboard.press("Space");
    await name.press("Enter");
    await start.click({ force: true });
    expect(sent()).toHaveLength(before);
    await expect(name).toHaveValue("Ada");
    await mend();
    await expect(start).toBeEnabled();
    await start.click();
    await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);
  });

  await test.step("a dialog", async () => {
    await page.goto(`${faults.url}/executions/${execution}`);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    const dialog = page.getByRole("dialog");
    const button = dialog.getByRole("button", { name: "Cancel the execution" });
    await expect(button).toBeEnabled();
    await breakOff();
    await expect(dialog.getByRole("status")).toContainText("Until it answers again nothing can be sent");
    await expect(button).toBeDisabled();
    const before = sent().length;
    await button.press("Enter");
    expect(sent()).toHaveLength(before);
    await mend();
    expect(sent()).toHaveLength(before);
    await button.click();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByRole("main").getByText("cancelled").first()).toBeVisible();
  });

  await test.step("keys of the editor", async () => {
    await page.goto(`${faults.url}/workflows/${workflow.name}?mode=edit`);
    const text = page.getByRole("textbox", { name: "Definition", exact: true });
    await text.press("Control+End");
    const offers = page.waitForResponse(/\/assets\/complete-/); // which the first key loads
    await page.keyboard.type(" ");
    await offers;
    await breakOff();
    const before = sent().length;
    for (const keys of ["Control+s", "Control+Shift+s", "Control+Enter"]) {
      await text.press(keys);
      await expect(page.getByText("Until it answers again nothing can be sent")).toBeVisible();
    }
    expect(sent()).toHaveLength(before);
    await expect(page.getByRole("button", { name: "Save draft" })).toBeDisabled();
    await mend();
    expect(sent()).toHaveLength(before);
    await expect(page.getByText("Until it answers again nothing can be sent")).toHaveCount(0);
    await expect(page.getByText("unsaved changes")).toBeVisible();
    await page.getByRole("button", { name: "Save draft" }).click();
    await expect.poll(() => sent().length).toBeGreaterThan(before);
  });
  expect(watch.take().filter((line) => !line.startsWith("a request that failed: "))).toEqual([]);
});
