import type { BrowserContext } from "@playwright/test";
import { Authenticator, named } from "../authenticator.ts";
import { expect, test } from "../harness.ts";
import { address, Admin, someone } from "../people.ts";
import { scrollUntil } from "../time.ts";
import { apply, run } from "../workflows.ts";

const greet = [{ greet: { set: { hello: "world" } } }];

/** The browser of another person. */
const another = (context: BrowserContext): Promise<BrowserContext> =>
  context.browser()!.newContext({ extraHTTPHeaders: { "X-Forwarded-For": address() } });

test("an admin invites a person, gives and takes roles, and disables the person", async ({
  page,
  context,
  fresh,
  hand,
  inspect,
  watch,
}) => {
  const server = await fresh();
  const admin = await Admin.of(server);
  const flow = await apply(admin, greet);
  await apply(admin, greet);
  const ada = someone("Ada Lovelace");
  await admin.enter(context);
  await page.goto(`${server.url}/admin/users?status=invited`);
  await expect(page.getByText("No invitation is open.")).toBeVisible();
  await inspect("users-none");

  // The server says what is wrong with the name, at the field. What was typed stays.
  await hand.press("Invite a person");
  await inspect("users-invite");
  await hand.fill("E-mail", ada.email);
  await hand.fill("Name", "Ada\u202e");
  await page.getByLabel("Give a role at once").uncheck();
  await hand.press("Make the invitation");
  await expect(page.getByLabel("Name", { exact: true })).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Name", { exact: true })).toBeFocused();
  await inspect("users-invite-refused");
  expect(watch.take()).toEqual([expect.stringMatching(/^400 for .*\/users$/)]);
  await expect(page.getByLabel("E-mail", { exact: true })).toHaveValue(ada.email);
  await hand.fill("Name", ada.name);
  await hand.press("Make the invitation");
  await expect(page.getByRole("dialog", { name: "Ada Lovelace is invited" })).toBeVisible();
  const link = (await page.locator("[data-snippet=Link]").textContent()) ?? "";
  await inspect("users-invited");
  await hand.press("I have copied it");
  expect(await page.content()).not.toContain(link);
  await inspect("users-open-invitations");

  // She comes in with the link, in a browser of her own, and sees nothing yet.
  const hers = await another(context);
  const desk = await hers.newPage();
  await desk.goto(link);
  await desk.getByLabel("Password", { exact: true }).fill(ada.password);
  await desk.getByRole("button", { name: "Accept and sign in" }).click();
  await expect(desk.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await desk.goto(`${server.url}/`);
  await expect(desk.getByRole("navigation", { name: "Sections" }).getByRole("link")).toHaveCount(0);

  await page.goto(`${server.url}/admin/users`);
  await hand.follow(ada.name);
  await expect(page.getByText("This user has no role")).toBeVisible();
  await hand.press("Give a role");
  await page.getByLabel("Over", { exact: true }).selectOption("a workflow");
  await hand.fill("a workflow", "nothing/here");
  await hand.press("Give the role");
  await expect(page.getByLabel("a workflow", { exact: true })).toHaveAttribute("aria-invalid", "true");
  await inspect("user-give-refused");
  expect(watch.take()).toEqual([expect.stringMatching(/^404 for .*\/workflows\/nothing\.here$/)]);
  await hand.fill("a workflow", flow.name);
  await hand.press("Give the role");
  const role = page.getByRole("table", { name: "Roles" }).getByRole("row", { name: /viewer/ });
  await expect(role).toContainText(flow.name);
  await inspect("user");
  await desk.goto(`${server.url}/workflows`);
  await expect(desk.getByRole("table").getByRole("link")).toHaveText([flow.name]);

  // What was taken away is given again.
  await hand.press(`Take away viewer over ${flow.name} from ${ada.name}`);
  await inspect("user-take");
  await hand.press("Take away");
  await expect(page.getByText("viewer was taken away from Ada Lovelace.")).toBeVisible();
  await inspect("user-taken");
  await hand.press("Give it again");
  await expect(role).toContainText(flow.name);

  // Disabling says what ends with it.
  await hand.press("Disable");
  await expect(page.getByRole("dialog")).toContainText("This ends within a second: 1 session.");
  await inspect("user-disable");
  await page.getByRole("dialog").getByRole("button", { name: "Disable" }).press("Enter");
  await expect(page.getByText("disabled: cannot sign in")).toBeVisible();
  await expect(desk.getByRole("dialog", { name: "Your session has ended" })).toBeVisible(); // without a click
  await hers.close();
  expect(watch.take()).toEqual([]);
  await hand.press("Enable");
  await page.getByRole("dialog").getByRole("button", { name: "Enable" }).press("Enter");
  await expect(page.getByText("active: can sign in")).toBeVisible();
});

test("the last admin stays, and the audit log shows who has changed what", async ({
  page,
  context,
  fresh,
  hand,
  inspect,
  watch,
}) => {
  const server = await fresh();
  const admin = await Admin.of(server);
  await admin.admit(someone("Ada Lovelace"));
  await admin.enter(context);
  // The last admin stays, in the words of the server.
  await page.goto(`${server.url}/admin/users?q=grace`);
  await hand.follow("Grace Hopper");
  await hand.press("Remove");
  await expect(page.getByRole("dialog")).toContainText("This is you.");
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).press("Enter");
  await expect(page.getByRole("alert")).toContainText("Make another user an admin first.");
  await inspect("user-last-admin");
  expect(watch.take()).toEqual([expect.stringMatching(/^409 for /)]);
  await hand.press("Cancel");

  await hand.follow("What this user has changed");
  await expect(page).toHaveURL(/\/admin\/audit\?actor=/);
  const log = page.getByRole("table", { name: "Audit log" });
  await expect(log).toContainText("Person invited");
  await page.getByLabel("What", { exact: true }).selectOption("Role given");
  await expect(page).toHaveURL(/action=grant\.given/);
  await page
    .getByRole("button", { name: /^Details: Role given/ })
    .first()
    .press("Enter");
  await expect(page).toHaveURL(/entry=/);
  await expect(page.getByRole("table", { name: "What has changed" })).toContainText("viewer");
  await inspect("audit");
  const download = page.waitForEvent("download");
  await hand.press("Export as JSON Lines");
  const lines = (await (await download).createReadStream()).setEncoding("utf8");
  const text = (await lines.toArray()).join("");
  const actions = text
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { action: string }).action);
  expect(new Set(actions)).toEqual(new Set(["grant.given"]));
  await page.reload();
  await expect(page.getByRole("table", { name: "What has changed" })).toContainText("viewer");

  // A time that is none is refused, and the filter of the page leaves it out.
  await page.goto(`${server.url}/admin/audit?after=nonsense`);
  await expect(page.getByRole("alert")).toBeVisible();
  expect(watch.take()).toEqual([expect.stringMatching(/^400 for .*after=nonsense/)]);
  await hand.press("Apply");
  await expect(page).toHaveURL(/\/admin\/audit$/);
  await expect(log).toContainText("Person invited");
});

test("an admin makes a group, gives it a role, and takes a member out and back in", async ({
  page,
  member,
  enter,
  hand,
  inspect,
}) => {
  await enter("admin", "Barbara Liskov");
  await page.goto("/admin/groups");
  await hand.press("New group");
  const name = `Finance ${member.email}`;
  await hand.fill("Name", name);
  await hand.press("Make the group");
  await expect(page.getByRole("heading", { name, level: 1 })).toBeVisible();
  await inspect("group-empty");

  await hand.press("Add a member");
  await page.getByRole("combobox", { name: "Who" }).pressSequentially(member.email);
  await expect(page.getByRole("option", { name: member.email, selected: true })).toBeVisible();
  await inspect("group-add");
  await page.keyboard.press("Enter");
  await hand.press("Add");
  const row = page.getByRole("table", { name: "Members" }).getByRole("row", { name: member.email });
  await expect(row).toBeVisible();

  await hand.press("Give a role");
  await page.getByLabel("Role", { exact: true }).selectOption("author");
  await page.getByRole("combobox", { name: "Environment" }).selectOption("test");
  await hand.press("Give the role");
  await expect(page.getByRole("table", { name: "Roles" })).toContainText("author");
  await inspect("group");

  await hand.press(`Take out ${member.name} from ${name}`);
  await hand.press("Take out");
  await expect(page.getByText("This group has no members.")).toBeVisible();
  await hand.press("Add again");
  await row.getByRole("link").press("Enter");
  await expect(page.getByRole("heading", { name: member.name, level: 1 })).toBeVisible();
  await expect(page.getByRole("table", { name: "Roles" })).toContainText(`group ${name}`);
  await inspect("user-by-group");
  await hand.follow(name);
  await hand.press("Delete");
  await expect(page.getByRole("dialog")).toContainText("It ends 1 role for 1 member.");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).press("Enter");
  await expect(page).toHaveURL("/admin/groups");
  const groups = page.getByRole("table", { name: "Groups" });
  await expect(groups.or(page.getByText("There is no group yet."))).toBeVisible();
  await expect(page.getByText(name)).toHaveCount(0);
});

test("a viewer sees no action and no admin's page, and an author of one workflow sees only hers", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  const mine = await apply(admin, greet);
  const other = await apply(admin, greet);
  const execution = await run(admin, mine);
  await signIn(member);
  await page.goto("/workflows");
  const sections = page.getByRole("navigation", { name: "Sections" });
  await expect(sections.getByRole("link")).toHaveText(["Overview", "Workflows", "Executions", "Batches", "Inbox"]);
  await page.goto(`/workflows/${mine.name}`);
  await expect(page.getByRole("link", { name: "Definition" })).toBeVisible();
  await expect(page.locator("main").getByRole("link", { name: "Run" })).toHaveCount(0);
  await page.goto(`/executions/${execution}`);
  await expect(page.getByText("finished").first()).toBeVisible();
  await expect(page.getByRole("button", { name: /Retry|Cancel/ })).toHaveCount(0);

  // What the page does not offer is refused when it is asked for by hand.
  for (const place of ["/admin/users", "/admin/groups", "/admin/grants", "/admin/audit"]) {
    await page.goto(place);
    await expect(page.getByRole("alert")).toContainText("You may not see this");
    await expect(page.locator("main").getByRole("button", { name: /Invite|New|Give|Export/ })).toHaveCount(0);
    expect(watch.take()).toContainEqual(expect.stringMatching(/^403 for /));
  }
  await inspect("audit-forbidden");
  const calls: [string, string, object?][] = [
    ["POST", `/workflows/${mine.id}/executions`, { input: {} }],
    ["POST", `/workflows/${mine.id}/executions/${execution}/retry`, {}],
    ["DELETE", `/workflows/${mine.id}`],
    ["POST", "/users", { email: "x@example.com", name: "X" }],
    ["POST", "/grants", { user_id: member.id, role: "admin" }],
    ["PUT", "/secrets/token", { value: "x" }],
    ["POST", "/api-keys", { name: "x" }],
  ];
  const answers = await page.evaluate(
    (list) =>
      Promise.all(
        list.map(async ([method, path, body]) => {
          const init = body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
          return (await fetch(`/api/v1${path}`, { method, ...init })).status;
        }),
      ),
    calls,
  );
  expect(answers).toEqual(calls.map(() => 403));
  watch.take();

  const author = someone("Mary Shelley");
  await admin.admit(author, [{ role: "author", workflow_id: mine.id }]);
  await page.context().clearCookies();
  await signIn(author);
  await page.goto("/workflows");
  await expect(page.getByRole("table").getByRole("link", { name: mine.name, exact: true })).toBeVisible();
  await expect(page.getByRole("table").locator("[data-row]")).toHaveCount(1);
  await page.goto(`/workflows/${other.name}`);
  await expect(page.getByRole("alert")).toBeVisible();
  expect(watch.take()).toContainEqual(expect.stringMatching(/^404 for /));
});

test("a dangerous change asks for a fresh sign-in by passkey, and does then what was typed", async ({
  page,
  server,
  admin,
  others,
  hand,
  watch,
  inspect,
}) => {
  const url = named(server.url);
  others.push(url);
  const authenticator = await Authenticator.of(page);
  const boss = someone("Frances Allen");
  await admin.admit(boss, [{ role: "admin" }]);
  await page.goto(`${url}/sign-in?return=/account/security`);
  await page.getByLabel("E-mail", { exact: true }).fill(boss.email);
  await page.getByLabel("Password", { exact: true }).fill(boss.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await hand.press("Add a passkey");
  await hand.fill("Name", "laptop");
  await hand.press("Make the passkey");
  await expect(page.getByRole("row", { name: /laptop/ })).toBeVisible();

  await page.goto(`${url}/admin/groups`);
  await hand.press("New group");
  const name = `Typed once by ${boss.email}`;
  await hand.fill("Name", name);
  await page.route("**/api/v1/groups", (route) =>
    route.request().method() === "POST"
      ? route.fulfill({
          status: 403,
          contentType: "application/problem+json",
          json: { code: "fresh_sign_in_required", title: "A fresh sign-in is required", status: 403 },
        })
      : route.fallback(),
  );
  await hand.press("Make the group");
  await expect(page.getByText("Confirm that it is you.")).toBeVisible();
  await inspect("fresh-sign-in");
  await page.unroute("**/api/v1/groups");
  expect(watch.take()).toEqual([expect.stringMatching(/^403 for .*\/groups$/)]);
  await authenticator.reject();
  await hand.press("Confirm with a passkey");
  await expect(page.getByRole("alert")).toContainText("The browser used no passkey.");
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue(name);
  await authenticator.accept();
  await hand.press("Confirm with a passkey");
  await expect(page.getByRole("heading", { name, level: 1 })).toBeVisible();
});

test("users are found by a text and a status, and of many only those that are seen are in the page", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
}) => {
  const boss = await enter("admin", "Joan Clarke");
  const mark = `crowd-${boss.email.split("@")[0] ?? ""}-`;
  for (let i = 100; i < 330; i++) {
    await admin.call("POST", "/users", { email: `${mark}${i}@example.com`, name: `Crowd ${i}` });
  }
  await page.goto("/admin/users");
  await hand.fill("Name or e-mail", mark);
  await page.getByLabel("Status", { exact: true }).selectOption("invited");
  await expect(page).toHaveURL(`/admin/users?q=${mark}&status=invited`);
  const table = page.getByRole("table", { name: "Users" });
  await expect(table).toHaveAttribute("aria-rowcount", "101");
  await inspect("users");
  // The next pages come as they are scrolled to.
  await scrollUntil(page, (soon) => expect(page.getByText("These are all.")).toBeInViewport(soon));
  await expect(table).toHaveAttribute("aria-rowcount", "231");
  await expect(page.getByText(`${mark}329@example.com`)).toBeInViewport();
  expect(await table.locator("[data-row]").count()).toBeLessThanOrEqual(60);
  await page.getByRole("link", { name: "Crowd 329" }).press("Enter");
  await expect(page.getByText("The invitation can be accepted until")).toBeVisible();
  await page.goBack();
  await expect(page.getByText(`${mark}329@example.com`)).toBeInViewport();
  await page.goto(`/admin/users?q=${mark}&status=active`);
  await expect(page.getByText("No users match.")).toBeVisible();
});
