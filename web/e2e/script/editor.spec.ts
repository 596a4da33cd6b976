import type { Page } from "@playwright/test";
import { taskFrom, taskSnippets } from "../../src/editor/snippets.ts";
import { expect, test } from "../harness.ts";
import { Admin, someone, type Person } from "../people.ts";
import { apply, run } from "../workflows.ts";

const waits = [{ pause: { wait: { hours: 1 } } }];

/** A person that may change and publish workflows. */
async function author(admin: Admin, name: string): Promise<Person> {
  const person = someone(name);
  await admin.admit(person, [{ role: "publisher" }]);
  return person;
}

const text = (page: Page) => page.getByRole("textbox", { name: "Definition", exact: true });
const problems = (page: Page) => page.getByRole("region", { name: "Problems" });

/** Writes another text in place of the whole, as a person with a keyboard does. */
async function write(page: Page, definition: string): Promise<void> {
  await text(page).focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(definition);
}

/** Puts the focus behind the text. Tab indents in it until Escape was pressed. */
async function leaveText(page: Page): Promise<void> {
  await text(page).focus();
  await page.keyboard.press("Escape");
  await expect(page.getByText("Tab now leaves the text.")).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(text(page)).not.toBeFocused();
}

const definition = (name: string, version: string, tasks: string) => `document:
  dsl: '1.0.3'
  namespace: ${name.split("/")[0]}
  name: ${name.split("/")[1]}
  version: '${version}'
do:
${tasks}`;

const wrong = `  - decide:
      switch:
        - large:
            when: .total > 1000
            then: refused
  - count:
      set:
        n: '\${ .items | lenth }'
  - pause:
      wait: soon
`;
const right = `  - decide:
      switch:
        - large:
            when: .total > 1000
            then: pause
  - count:
      set:
        n: '\${ .items | length }'
  - pause:
      wait:
        seconds: 1
`;

test("a page is loaded anew when another person has signed in in another tab", async ({ page, admin, signIn }) => {
  const other = await author(admin, "Grace Hopper");
  await signIn(await author(admin, "Barbara Liskov"));
  await page.clock.install();
  await page.goto("/workflows/new");
  await write(page, "# what Barbara has typed");
  await expect(text(page)).toContainText("what Barbara has typed");
  await signIn(other);
  await page.clock.fastForward("02:00"); // by then the page asks who it is of when it is looked at again
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange", { bubbles: true })));
  await expect(page.getByRole("button", { name: "Account of Grace Hopper" })).toBeVisible();
  await expect(text(page)).toContainText("document:");
  await expect(page.getByText("what Barbara has typed")).toHaveCount(0);
});

test("an author inserts a whole task, and each that is offered is valid", async ({ page, fresh, signIn }) => {
  const server = await fresh(["--allow-run=shell"]);
  const admin = await Admin.of(server);
  const workflow = await apply(admin, waits);
  const all = Object.values(taskSnippets).map((snippet) => `  - ${taskFrom(snippet, 4, [])}\n`);
  await signIn(await author(admin, "Grace Hopper"), server);
  await page.goto(`${server.url}/workflows/${workflow.name}?mode=edit`);
  await write(page, definition(workflow.name, "1.1.0", all.join("")));
  await expect(problems(page)).toContainText("No problems");

  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("  - wai");
  const offers = page.locator(".cm-tooltip-autocomplete");
  await expect(offers.getByRole("option", { name: "wait" })).toHaveAttribute("aria-selected", "true");
  await offers.getByRole("option", { name: "wait" }).click(); // Enter makes a new line just after the list has come
  await expect(text(page)).toContainText("pause2:");

  // Its author goes through what is an example in it.
  await page.keyboard.type("rest");
  await expect(page.locator(".cm-activeLine")).toHaveText("  - rest:");
  await page.keyboard.press("Tab");
  await page.keyboard.type("PT5S");
  await expect(page.locator(".cm-activeLine")).toHaveText("      wait: PT5S");
  await page.keyboard.press("Tab"); // after the last one it indents, as always
  await expect(page.locator(".cm-activeLine")).toHaveText("        wait: PT5S");
});

test("an author finds a task, renames it where it is named, and reads what a key stands for", async ({
  page,
  admin,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, waits);
  await signIn(await author(admin, "Barbara Liskov"));
  await page.goto(`/workflows/${workflow.name}?mode=edit`);
  await write(page, definition(workflow.name, "1.1.0", right));
  await page.keyboard.press("ControlOrMeta+p");
  const options = page.getByRole("option");
  await expect(options).toHaveText(["decide line 7", "count line 12", "pause line 15"]);
  await page.keyboard.type("pau");
  await expect(options).toHaveText(["pause line 15"]);
  await inspect("editor-go-to-task");
  await page.keyboard.press("Enter");
  await expect(text(page)).toBeFocused();
  await expect(page.locator(".cm-activeLine")).toHaveText("  - pause:");

  await page.keyboard.press("F2");
  await hand.fill("Name", "count");
  await page.getByRole("dialog").getByRole("button", { name: "Rename the task" }).press("Enter");
  await expect(page.getByLabel("Name", { exact: true })).toHaveAccessibleDescription(/called count already/);
  await inspect("editor-rename-refused");
  await hand.fill("Name", "rest");
  await page.getByRole("dialog").getByRole("button", { name: "Rename the task" }).press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByText("pause is called rest now.")).toBeVisible();
  await expect(page.locator(".cm-activeLine")).toHaveText("  - rest:");
  await expect(page.locator(".cm-line").filter({ hasText: "then:" })).toHaveText("            then: rest");
  await expect(problems(page)).toContainText("No problems");
  await page.keyboard.press("ControlOrMeta+z"); // one change
  await expect(page.locator(".cm-line").filter({ hasText: "then:" })).toHaveText("            then: pause");
  await expect(page.locator(".cm-line").filter({ hasText: "- pause:" })).toHaveCount(1);

  await page.locator(".cm-line").filter({ hasText: "wait:" }).getByText("wait", { exact: true }).hover();
  await expect(page.locator(".cm-about")).toBeVisible();
  await inspect("editor-about");
  await page.locator(".cm-line").filter({ hasText: "wait:" }).getByText("wait", { exact: true }).hover();
  const opened = page.waitForEvent("popup");
  await page.locator(".cm-about").getByRole("link", { name: "Reference: wait" }).click();
  await expect((await opened).getByRole("heading", { name: "wait", level: 1 })).toBeVisible();

  // Who uses no pointer has the same by a key.
  await page.getByRole("button", { name: "Go to a task" }).click();
  await page.keyboard.type("decide");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowDown");
  await expect(page.locator(".cm-activeLine")).toHaveText("      switch:");
  const other = page.waitForEvent("popup");
  await page.keyboard.press("F1");
  await expect((await other).getByRole("heading", { name: "switch", level: 1 })).toBeVisible();
});

test("an author corrects three errors where they are marked, publishes, and sees what has changed", async ({
  page,
  admin,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, waits);
  await signIn(await author(admin, "Barbara Liskov"));
  await page.goto(`/workflows/${workflow.name}`);
  await hand.follow("Edit");
  await expect(page).toHaveURL(`/workflows/${workflow.name}?mode=edit`);
  await expect(problems(page)).toContainText("No problems");
  await expect(page.getByRole("application", { name: "Graph of the tasks" })).toContainText("pause");

  await write(page, definition(workflow.name, "1.1.0", wrong));
  await expect(problems(page)).toContainText("3 errors");
  const list = problems(page).getByRole("button");
  await expect(list).toHaveText([/line 11, column 13:.*refused/, /line 14, column 9:.*lenth/, /line 16, column 7:/]);
  const marks = page.locator(".cm-line", { has: page.locator(".cm-lintRange-error") });
  await expect(marks).toHaveText(["            then: refused", "        n: '${ .items | lenth }'", "      wait: soon"]);
  await inspect("editor-errors");

  // A problem leads to its place, and nothing is published before all are gone.
  await leaveText(page);
  await list.nth(2).focus();
  await page.keyboard.press("Enter");
  await expect(text(page)).toBeFocused();
  await expect(page.locator(".cm-activeLine")).toHaveText("      wait: soon");
  await page.keyboard.press("ControlOrMeta+Shift+s");
  await expect(page.getByText("It cannot be published yet")).toBeVisible();
  await expect(page.locator(".cm-activeLine")).toHaveText("            then: refused");

  await write(page, definition(workflow.name, "1.1.0", right));
  await expect(problems(page)).toContainText("No problems");
  const picture = page.getByRole("application", { name: "Graph of the tasks" });
  await picture.getByRole("button", { name: /^count set/ }).focus();
  await page.keyboard.press("Enter");
  await expect(page.locator(".cm-activeLine")).toHaveText("  - count:");
  await expect(picture.getByRole("button", { name: /^count set/ })).toHaveAttribute("aria-pressed", "true");
  await inspect("editor");

  await leaveText(page);
  await hand.press("Publish");
  await expect(page.getByRole("dialog")).toBeVisible();
  await hand.fill("Message", "Decide by the total");
  await inspect("editor-publish");

  // What fails is said in the dialog, and the message stays.
  await page.route(/\/api\/v1\/workflows(\?|$)/, (route) =>
    route.request().method() === "GET"
      ? route.continue()
      : route.fulfill({
          status: 503,
          contentType: "application/problem+json",
          json: { code: "unavailable", title: "The server stops", status: 503 },
        }),
  );
  await hand.press("Publish now");
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("The server stops");
  await expect(page.getByLabel("Message", { exact: true })).toHaveValue("Decide by the total");
  expect(watch.take()).toEqual([expect.stringMatching(/^503 for .*\/workflows/)]);
  await page.unroute(/\/api\/v1\/workflows(\?|$)/);
  await hand.press("Publish now");
  await expect(page.getByText("1.1.0 is published.")).toBeVisible();
  await hand.press("Close the editor");
  await expect(page.locator(".lines")).toContainText("length");

  await hand.follow("Versions");
  const row = page.getByRole("row", { name: /1\.1\.0/ });
  await expect(row).toContainText("Decide by the total");
  await hand.press("Compare versions");
  await expect(page).toHaveURL(/from=1\.0\.0&to=1\.1\.0/);
  await expect(page.getByRole("textbox", { name: "1.1.0" })).toContainText("then: pause");
  await inspect("workflow-compare");
  await hand.press("One below the other");
  await expect(page).toHaveURL(/layout=unified/);
  await expect(page.getByRole("textbox", { name: "1.0.0" })).toHaveCount(0);
});

test("the second of two authors is shown both texts, and neither is lost", async ({
  page,
  admin,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, [{ greet: { set: { greeting: "Hello" } } }]);
  const [namespace, name] = workflow.name.split("/");
  await signIn(await author(admin, "Edsger Dijkstra"));
  await page.goto(`/workflows/${workflow.name}?mode=edit`);
  await expect(problems(page)).toContainText("No problems");
  await write(page, definition(workflow.name, "1.1.0", "  - greet:\n      set:\n        greeting: Mine\n"));
  await expect(page.getByText("unsaved changes")).toBeVisible();

  const document = { dsl: "1.0.3", namespace, name, version: "1.2.0" };
  await admin.call("POST", "/workflows?message=First", { document, do: [{ greet: { set: { greeting: "Theirs" } } }] });
  await page.keyboard.press("ControlOrMeta+s");
  const conflict = page.getByRole("region", { name: "Conflict" });
  await expect(conflict.getByRole("alert")).toContainText(`${workflow.name} has changed since you began.`);
  await expect(conflict.getByRole("alert")).toContainText("Version 1.2.0 by Grace Hopper");
  await expect(conflict.getByRole("textbox", { name: "Theirs" })).toContainText("Theirs");
  await expect(conflict.getByRole("textbox", { name: "Mine" })).toContainText("Mine");
  expect(watch.take().filter((line) => !line.startsWith("412 for "))).toEqual([]);
  await inspect("editor-conflict");
  await hand.press("What I changed");
  await expect(conflict.getByRole("textbox", { name: "Before both" })).toContainText("Hello");

  await hand.press("Continue with mine");
  await expect(text(page)).toContainText("Mine");
  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.getByText("The draft of 1.1.0 is saved")).toBeVisible();
  const versions = await admin.call<{ data: { version: string }[] }>("GET", `/workflows/${workflow.id}/versions`);
  expect(versions.data.map((each) => each.version)).toEqual(["1.1.0", "1.2.0", "1.0.0"]);
});

test("what is not saved is kept in the browser, leaving asks, and a new workflow runs", async ({
  page,
  admin,
  signIn,
  hand,
  inspect,
}) => {
  await signIn(await author(admin, "Radia Perlman"));
  await page.goto("/workflows");
  await hand.follow("New workflow");
  await expect(page).toHaveURL("/workflows/new");
  await expect(problems(page)).toContainText("No problems");
  const name = `ui-${process.pid}/new-${crypto.randomUUID().slice(0, 8)}`;
  await write(page, definition(name, "1.0.0", "  - greet:\n      set:\n        greeting: kept\n"));
  await expect(page.getByText("unsaved changes")).toBeVisible();

  // Tab indents, and after Escape it leaves.
  await page.keyboard.press("ControlOrMeta+Home");
  await page.keyboard.press("Tab");
  await expect(page.locator(".cm-line").first()).toHaveText("  document:");
  await page.keyboard.press("Shift+Tab");
  await expect(page.locator(".cm-line").first()).toHaveText("document:");
  await leaveText(page);

  await hand.follow("Executions");
  await expect(page.getByRole("dialog", { name: "Leave the editor?" })).toBeVisible();
  await inspect("editor-leave");
  await hand.press("Stay");
  await expect(page).toHaveURL("/workflows/new");
  await hand.follow("Executions");
  await hand.press("Leave");
  await expect(page).toHaveURL("/executions");
  await page.goto("/workflows/new");
  await expect(page.getByText("This is text of yours that is not saved")).toBeVisible();
  await expect(text(page)).toContainText("greeting: kept");
  await inspect("editor-kept");

  // Completion: what comes next is offered, and written with the keyboard.
  await text(page).focus();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("  - la");
  await page.keyboard.type("st:\n");
  await page.keyboard.type("  rai");
  await expect(page.getByRole("option", { name: "raise" })).toBeVisible();
  await page.keyboard.press("Escape");
  await write(page, definition(name, "1.0.0", "  - greet:\n      set:\n        greeting: kept\n"));
  await expect(problems(page)).toContainText("No problems");
  await page.keyboard.press("ControlOrMeta+Shift+s");
  await hand.press("Publish now");
  await expect(page).toHaveURL(`/workflows/${name}`);
  await expect(page.locator(".lines")).toContainText("kept");
  await page.goto(`/workflows/${name}?mode=edit`);
  await expect(problems(page)).toContainText("No problems");
  await expect(page.getByText("This is text of yours that is not saved")).toBeHidden();
  await write(page, definition(name, "1.1.0", "  - greet:\n      set:\n        greeting: tried\n"));
  await expect(page.getByRole("button", { name: "Save and run in test" })).toBeVisible();
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page).toHaveURL(/tab=run&env=test/);
  await expect(page.getByText("Version 1.1.0")).toBeVisible();
  await hand.press("Start");
  await expect(page.locator(".execution-head")).toContainText("finished");

  // A task that has run shows its lines, and leads to them in the editor.
  await page.getByRole("treeitem", { name: /greet/ }).click();
  const inspector = page.getByRole("region", { name: "Run of the task" });
  await inspector.getByText("Definition", { exact: true }).press("Enter");
  await expect(inspector).toContainText("Line 7 of the definition");
  await expect(inspector.getByRole("region", { name: "Definition of greet" })).toHaveText(
    "- greet: set: greeting: tried",
  );
  await inspect("execution-task-lines");
  await hand.follow("Edit the task");
  await expect(page.locator(".cm-activeLine")).toHaveText("  - greet:");
  await expect(text(page)).toBeFocused();
});

test("an author tries an expression with the input of a task that has run", async ({
  page,
  admin,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, [{ greet: { set: { greeting: "${ .name }" } } }]);
  const id = await run(admin, workflow, { name: "Ada", items: [1, 2, 3] });
  await signIn(await author(admin, "Katherine Johnson"));
  await page.goto(`/executions/${id}?tab=graph&task=/do/0/greet`);
  await hand.follow("Try an expression with it");
  await expect(page).toHaveURL(new RegExp(`/workflows/${workflow.name}\\?mode=edit&sample=${id}`));
  await expect(page.getByLabel("Input", { exact: true })).toHaveValue(/"Ada"/);
  await leaveText(page);
  await hand.fill("Expression", "${ .items | add }");
  await hand.press("Evaluate");
  await expect(page.getByRole("region", { name: "Value" })).toContainText("6");
  await inspect("expression");
  await hand.fill("Expression", "${ .items | }");
  await hand.press("Evaluate");
  await expect(page.getByLabel("Expression", { exact: true })).toHaveAttribute("aria-invalid", "true");
  expect(watch.take().filter((line) => !line.startsWith("422 for "))).toEqual([]);
  await hand.fill("Input", "{");
  await hand.press("Evaluate");
  await expect(page.getByText("This is not JSON")).toBeVisible();
  await inspect("expression-wrong");
});

test("an editor says what is missing: rights, and the server", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, waits);
  await signIn(member);
  await page.goto(`/workflows/${workflow.name}`);
  await expect(page.getByRole("link", { name: "Versions" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Edit" })).toHaveCount(0);
  await page.goto(`/workflows/${workflow.name}?mode=edit`);
  await expect(page.getByRole("alert")).toContainText("workflows:write");
  await inspect("editor-forbidden");

  await signIn(await author(admin, "Frances Allen"));
  await page.goto(`/workflows/${workflow.name}?mode=edit`);
  await expect(problems(page)).toContainText("No problems");
  await page.route(/\/api\/v1\/|\/healthz/, (route) => route.abort("connectionrefused"));
  await write(page, definition(workflow.name, "1.1.0", right));
  await expect(problems(page).getByRole("alert")).toContainText("cannot be reached");
  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.getByText("Until it answers again nothing can be sent")).toBeVisible();
  await expect(text(page)).toContainText("seconds: 1");
  await inspect("editor-unreachable");
  await page.unrouteAll({ behavior: "wait" });
  expect(watch.take().filter((line) => !line.startsWith("a request that failed"))).toEqual([]);
});
