// What networks, busy servers and upgrades do to pages. None is ever blank, and none loses what was typed.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "@playwright/test";
import { carryOn, expect, test } from "./harness.ts";
import { sideways, space } from "./inspect.ts";
import { full } from "./measure.ts";
import { Admin, someone, type Person } from "./people.ts";
import { ask, asking } from "./tasks.ts";
import { passTimeUntil } from "./time.ts";
import { apply, greets, numbered, refuse, run, runBatch, waits } from "./workflows.ts";

/** What the pages show, made once for each worker. */
interface Made {
  person: Person;
  /** Of the person. */
  id: string;
  workflow: string;
  execution: string;
  batch: string;
  group: string;
  groupName: string;
  operation: string;
  task: string;
}
let made: Made;

test.beforeAll(async ({ shared: { admin } }) => {
  const workflow = await apply(admin, [{ refuse: refuse() }], { document: { namespace: `faults-${process.pid}` } });
  const batch = await runBatch(admin, workflow, numbered(1));
  await admin.call("PUT", "/secrets/spoiled", { value: "k-71-ocelot" });
  const person = someone("Barbara Liskov");
  const id = await admin.admit(person, [{ role: "admin" }]);
  const groupName = `Spoiled ${crypto.randomUUID()}`; // one worker may come here again
  const group = await admin.call<{ id: string }>("POST", "/groups", { name: groupName });
  const execution = await run(admin, workflow);
  const operation = await admin.call<{ id: string }>("POST", "/operations", { action: "retry", ids: [execution] });
  const status = async () => (await admin.call<{ status: string }>("GET", `/operations/${operation.id}`)).status;
  await expect.poll(status).toBe("completed");
  const asks = { title: "Approve the spoiled", instructions: "Look at it.", assignees: { users: [person.email] } };
  const { id: task } = await ask(admin, await asking(admin, asks));
  const own = { person, id, group: group.id, groupName, operation: operation.id, task };
  made = { ...own, workflow: workflow.name, execution, batch: batch.id };
});

interface Row {
  address: () => string;
  /** What only an answer of the server brings. */
  shows: (page: Page) => Locator;
}

/** All pages, by their routes. A route of src/app/router.tsx that is not here fails a test. */
const pages: Record<string, Row> = {
  "/": { address: () => "/?span=7d", shows: (page) => page.getByText(/^As of/) },
  "/executions": {
    address: () => `/executions?filter=workflow:${made.workflow}`,
    shows: (page) => page.getByRole("link", { name: made.workflow }),
  },
  "/executions/$id": {
    address: () => `/executions/${made.execution}`,
    shows: (page) => page.getByRole("tree").getByText("refuse"),
  },
  "/executions/$id?tab=graph": {
    address: () => `/executions/${made.execution}?tab=graph&view=outline`,
    shows: (page) => page.getByRole("tree").getByText("refuse"),
  },
  "/executions/$id?tab=events": {
    address: () => `/executions/${made.execution}?tab=events`,
    shows: (page) => page.getByRole("list", { name: "What has happened" }).getByText("has failed").first(),
  },
  "/operations/$id": {
    address: () => `/operations/${made.operation}`,
    shows: (page) => page.getByText("1 of 1 execution"),
  },
  "/inbox": {
    address: () => "/inbox",
    shows: (page) => page.getByRole("region", { name: "List of tasks" }).getByText("Approve the spoiled"),
  },
  "/inbox/$taskId": {
    address: () => `/inbox/${made.task}`,
    shows: (page) => page.getByRole("article").getByText("Look at it."),
  },
  "/workflows": {
    address: () => `/workflows?namespace=${made.workflow.split("/")[0]}`,
    shows: (page) => page.getByRole("link", { name: made.workflow }).first(),
  },
  "/workflows/$namespace/$name": {
    address: () => `/workflows/${made.workflow}?tab=definition`,
    shows: (page) => page.locator("pre").getByText("refuse"),
  },
  "/batches": {
    address: () => `/batches?workflow=${made.workflow}`,
    shows: (page) => page.getByRole("table", { name: "Batches" }).locator("tbody tr"),
  },
  "/batches/$id": { address: () => `/batches/${made.batch}`, shows: (page) => page.getByText("1 of 1 item") },
  "/account/api-keys": {
    address: () => "/account/api-keys",
    shows: (page) => page.getByText("You have no API key yet."),
  },
  "/account": { address: () => "/account", shows: (page) => page.getByLabel("Rows of lists") },
  "/admin/limits": { address: () => "/admin/limits?q=json_depth", shows: (page) => page.getByText("json_depth") },
  "/admin/health": {
    address: () => "/admin/health",
    shows: (page) => page.getByRole("table", { name: "What was looked at" }),
  },
  "/admin/secrets": { address: () => "/admin/secrets", shows: (page) => page.getByRole("link", { name: "spoiled" }) },
  "/admin/secrets/$name": {
    address: () => "/admin/secrets/spoiled",
    shows: (page) => page.getByText("No published workflow declares it."),
  },
  "/admin/users": {
    address: () => `/admin/users?q=${made.person.email}`,
    shows: (page) => page.getByRole("table", { name: "Users" }).getByText(made.person.email),
  },
  "/admin/users/$id": {
    address: () => `/admin/users/${made.id}`,
    shows: (page) => page.getByRole("table", { name: "Roles" }).getByText("admin", { exact: true }),
  },
  "/admin/groups": {
    address: () => "/admin/groups",
    shows: (page) => page.getByRole("link", { name: made.groupName }),
  },
  "/admin/groups/$id": {
    address: () => `/admin/groups/${made.group}`,
    shows: (page) => page.getByText("This group has no members."),
  },
  "/admin/grants": {
    address: () => `/admin/grants?workflow=${made.workflow}`,
    shows: (page) => page.getByRole("table", { name: "Roles" }).locator("tbody tr").first(),
  },
  "/admin/audit": {
    address: () => "/admin/audit",
    shows: (page) => page.getByRole("table", { name: "Audit log" }).locator("tbody tr").first(),
  },
  "/workflows/$namespace/$name?mode=edit": {
    address: () => `/workflows/${made.workflow}?mode=edit`,
    shows: (page) => page.getByRole("textbox", { name: "Definition", exact: true }).getByText("refuse").first(),
  },
  "/account/security": { address: () => "/account/security", shows: (page) => page.getByText("this one") },
};

/** They ask nothing before something is written there. */
const silent = ["/workflows/new"];

test("the table has every route", () => {
  const router = readFileSync(join(import.meta.dirname, "../src/app/router.tsx"), "utf8");
  const routes = [...router.matchAll(/^ {2}path: "([^"]+)",$/gm)].map(([, path]) => path ?? "");
  expect(routes.length).toBeGreaterThan(8);
  const known = [...new Set(Object.keys(pages).map((route) => route.split("?")[0])), ...silent];
  expect(known).toEqual(expect.arrayContaining(routes));
});

/** What a page asks the API, without who is signed in, which the frame needs. */
const questions = /^GET \/api\/v1\/(?!me$)/;

/** Hides the page as another tab does that is in front of it, or shows it again. */
const see = (page: Page, seen: boolean) =>
  page.evaluate((visible) => {
    Object.defineProperty(document, "hidden", { configurable: true, value: !visible });
    Object.defineProperty(document, "visibilityState", { configurable: true, value: visible ? "visible" : "hidden" });
    document.dispatchEvent(new Event("visibilitychange", { bubbles: true }));
  }, seen);

for (const [turn, [route, { address, shows }]] of Object.entries(pages).entries()) {
  test(`${route} is never blank`, async ({ page, faults, signIn, watch }) => {
    await signIn(made.person, faults);
    await page.clock.install();
    const content = shows(page).first();
    const heading = page.getByRole("heading", { level: 1 });
    const alert = page.getByRole("alert").first();

    await test.step("the server is slow", async () => {
      faults.spoil(questions, "hold");
      await page.goto(faults.url + address());
      const loading = page.getByRole("status", { name: "Loading" }).first();
      await expect(loading).toBeVisible();
      await page.clock.runFor(10_000);
      await expect(loading).toBeVisible();
      await expect(heading).not.toBeEmpty();
      await expect(alert).toHaveCount(0);
      faults.heal();
      await expect(content).toBeVisible();
    });

    await test.step("the window is narrow, the text is spaced, the colours are forced", async () => {
      for (const [width, spaced, forcedColors] of [
        [320, false, "none"],
        [360, true, "none"],
        [1280, true, "active"],
      ] as const) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ forcedColors });
        await space(page, spaced);
        await expect.poll(() => sideways(page), `how much wider the page is than ${width} pixels`).toBe(0);
        await expect(content).toBeVisible();
      }
      await page.emulateMedia({ forcedColors: null });
      await space(page, false);
    });

    await test.step("the page is hidden", async () => {
      await see(page, false);
      // What was asked for before may have to be answered first.
      await expect(async () => {
        const before = faults.asked.length;
        await page.clock.runFor(60_000);
        expect(faults.asked.slice(before)).toEqual([]);
      }).toPass({ intervals: [50], timeout: 120_000 });
      await see(page, true);
    });

    const happens = {
      "the server is gone": async () => {
        faults.spoil(/./, "break");
        const lost = page.getByText(/^Not connected since/);
        await passTimeUntil(page, async (soon) => {
          await see(page, true);
          await expect(lost).toBeVisible(soon);
        });
        await expect(content).toBeVisible();
        faults.heal();
        await passTimeUntil(page, (soon) => expect(lost).toHaveCount(0, soon));
        await expect(content).toBeVisible();
      },
      "the server fails": async () => {
        faults.spoil(questions, { status: 500 });
        await page.reload();
        await passTimeUntil(page, (soon) => expect(alert).toContainText("Spoiled with 500", soon));
        await expect(heading).not.toBeEmpty();
        faults.heal();
        await passTimeUntil(page, async (soon) => {
          for (const again of await page.getByRole("button", { name: "Try again" }).all()) {
            await again.click(soon);
          }
          await expect(alert).toHaveCount(0, soon);
          await expect(content).toBeVisible(soon);
        });
      },
      "the person has no right": async () => {
        faults.spoil(questions, { status: 403 });
        await page.reload();
        await expect(alert).toContainText("You may not see this");
        await expect(heading).not.toBeEmpty();
        faults.heal();
      },
      "the server is busy, and says when to ask again": async () => {
        faults.spoil(questions, { status: 429, headers: { "Retry-After": "5" } }, { once: true });
        await page.reload();
        await passTimeUntil(page, (soon) => expect(content).toBeVisible(soon));
        await expect(alert).toHaveCount(0);
      },
    };
    // Outside of test/full a page meets one of the four, and the next page the next one.
    const met = Object.entries(happens).filter((_, n) => full || n === turn % 4);
    for (const [what, happen] of met) {
      await test.step(what, happen);
    }

    const left = watch.take().filter((line) => !/^(500|403|429) for |^a request that failed: /.test(line));
    expect(left).toEqual([]);
  });
}

/** Lets a page find that its server has started again. */
const back = (page: Page) =>
  passTimeUntil(page, (soon) => expect(page.getByText(/^Not connected since/)).toHaveCount(0, soon));

test("the server is killed while a person types, and nothing is lost or sent twice", async ({
  page,
  context,
  fresh,
  faults,
  signIn,
  watch,
}) => {
  const server = await fresh();
  faults.server = server;
  const admin = await Admin.of(server);
  const document = { type: "object", required: ["name"], properties: { name: { type: "string" } } };
  const input = { schema: { format: "json", document } };
  const workflow = await apply(admin, greets, { input });
  await run(admin, workflow, { name: "Grace" });
  const person = someone("Alan Turing");
  await admin.admit(person, [{ role: "operator" }]);
  await signIn(person, faults);

  const list = await context.newPage();
  const rows = list.getByRole("table", { name: "Executions" }).locator("tbody tr");
  await context.clock.install();
  await list.goto(`${faults.url}/executions?filter=workflow:${workflow.name}`);
  await expect(rows).toHaveCount(1);
  await list.getByLabel("Filter", { exact: true }).fill("state:error and not sent");
  await page.goto(`${faults.url}/workflows/${workflow.name}?tab=run`);
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("Ada");

  await server.kill();
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByRole("alert")).toContainText("The server cannot be reached.");
  await expect(page.getByText(/^Not connected since/)).toBeVisible();
  await expect(name).toHaveValue("Ada");
  await list.keyboard.press("Escape");
  await passTimeUntil(list, (soon) => expect(list.getByText(/^Not connected since/)).toBeVisible(soon));
  await expect(rows).toHaveCount(1);

  // A page that is opened now says that it cannot come, and comes when it can.
  await page.getByRole("link", { name: "Batches" }).click();
  await expect(page.getByRole("alert")).toContainText("The server cannot be reached.");
  await expect(page.getByRole("navigation", { name: "Sections" })).toBeVisible();

  await server.again();
  faults.server = server;
  await back(page);
  await expect(page.getByText("There is no batch yet.")).toBeVisible();
  await page.goBack();
  await expect(name).toHaveValue("Ada");
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);

  await back(list);
  await expect(list.getByLabel("Filter", { exact: true })).toHaveValue("state:error and not sent");
  await list.getByRole("button", { name: "1 new" }).click();
  await expect(rows).toHaveCount(2);
  // A server that has just started answers 503 until it is ready.
  expect(watch.take().filter((line) => !/^(503 for |a request that failed: )/.test(line))).toEqual([]);
});

test("a stream that is cut in the middle of an event continues without a gap", async ({
  page,
  admin,
  faults,
  signIn,
  watch,
}) => {
  const workflow = await apply(admin, waits);
  const batch = await runBatch(admin, workflow, numbered(3), { wait: "0s" });
  const { data: waiting } = await admin.call<{ data: { id: string }[] }>("GET", `/executions?batch_id=${batch.id}`);
  expect(waiting).toHaveLength(3);
  await signIn(made.person, faults);
  faults.spoil(/^GET \/api\/v1\/stream/, { cutAfter: '"cancelled":1' }, { once: true });
  await page.goto(`${faults.url}/batches/${batch.id}`);
  await expect(page.getByText("0 of 3 items")).toBeVisible();
  // Only the stream can bring what comes now.
  faults.spoil(/^GET \/api\/v1\/batches\//, "hold");
  const cancel = (n: number) => admin.call("POST", `/workflows/${workflow.id}/executions/${waiting[n]?.id}/cancel`, {});
  await cancel(0);
  await expect(page.getByText("1 of 3 items")).toBeVisible();
  await cancel(1);
  await expect(page.getByText("2 of 3 items")).toBeVisible();
  expect(faults.asked.filter((what) => what.startsWith("GET /api/v1/stream"))).toHaveLength(2);
  faults.heal();
  await cancel(2);
  await expect(page.getByText("3 of 3 items")).toBeVisible();
  expect(watch.take().filter((line) => !line.startsWith("a request that failed: "))).toEqual([]);
});

test("a script that is gone after an upgrade loads the page again, once", async ({ page, faults, signIn, watch }) => {
  // Other tests have left workflows and executions: any of them shows that the page is there.
  const row = (list: string) => page.getByRole("table", { name: list }).getByRole("link").first();
  const loads = () => faults.asked.filter((what) => /^GET \/(workflows|batches|account\/security)/.test(what));
  await signIn(made.person, faults);
  await page.goto(`${faults.url}/account/security`);
  await expect(page.getByRole("heading", { name: "Sign-in and sessions" })).toBeVisible();
  faults.spoil(/^GET \/assets\/workflows-/, { status: 404 }, { once: true });
  await page.getByRole("link", { name: "Workflows" }).click();
  await expect(row("Workflows")).toBeVisible();
  expect(loads()).toEqual(["GET /account/security", "GET /workflows"]);

  // One that stays away is said to be missing, in the frame.
  faults.spoil(/^GET \/assets\/batches-/, { status: 404 });
  await page.getByRole("link", { name: "Batches" }).click();
  await expect(page.getByRole("heading", { name: "This page failed" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Load the page again" })).toBeVisible();
  expect(loads()).toEqual(["GET /account/security", "GET /workflows"]);
  faults.heal();
  await page.getByRole("link", { name: "Executions" }).click();
  await expect(row("Executions")).toBeVisible();
  expect(watch.take().filter((line) => !/^404 for .*\/assets\/|Failed to fetch dynamically/.test(line))).toEqual([]);
});

test("a session that ends while a form is sent leaves the form as it is", async ({
  page,
  context,
  admin,
  signIn,
  watch,
}) => {
  const input = { schema: { format: "json", document: { type: "object", properties: { name: { type: "string" } } } } };
  const workflow = await apply(admin, greets, { input });
  await signIn(made.person);
  await page.goto(`/workflows/${workflow.name}?tab=run`);
  await page.getByLabel("Name", { exact: true }).fill("Ada");
  await context.clearCookies();
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page.getByRole("dialog", { name: "Your session has ended" })).toBeVisible();
  await signIn(made.person);
  await carryOn(page);
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Ada");
  await page.getByRole("button", { name: "Start" }).click();
  await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);
  expect(watch.take().filter((line) => !line.startsWith("401 for "))).toEqual([]);
});

test("after another sign-in, changes come as they happen again", async ({
  page,
  context,
  admin,
  faults,
  signIn,
  watch,
}) => {
  const workflow = await apply(admin, waits);
  const batch = await runBatch(admin, workflow, numbered(2), { wait: "0s" });
  const { data: waiting } = await admin.call<{ data: { id: string }[] }>("GET", `/executions?batch_id=${batch.id}`);
  await signIn(made.person, faults);
  await page.goto(`${faults.url}/batches/${batch.id}`);
  await expect(page.getByText("0 of 2 items")).toBeVisible();
  await expect.poll(() => faults.streams).toBe(1);
  const signedOut = await context.request.delete(`${faults.url}/api/v1/session`);
  expect(signedOut.ok()).toBe(true);
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await expect(dialog).toBeVisible(); // though the person does nothing
  await signIn(made.person, faults);
  await carryOn(page);
  await expect.poll(() => faults.streams).toBe(1);
  // Only the stream can bring what comes now.
  faults.spoil(/^GET \/api\/v1\/batches\//, "hold");
  await admin.call("POST", `/workflows/${workflow.id}/executions/${waiting[0]?.id}/cancel`, {});
  await expect(page.getByText("1 of 2 items")).toBeVisible();
  faults.heal();
  expect(watch.take().filter((line) => !/^(401 for |a request that failed: )/.test(line))).toEqual([]);
});
