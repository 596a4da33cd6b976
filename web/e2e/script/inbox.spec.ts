import type { Page } from "@playwright/test";
import { expect, test } from "../harness.ts";
import { expectVisibleFocus } from "../hand.ts";
import { holdBack } from "../hold.ts";
import { post, someone, type Admin, type Person } from "../people.ts";
import type { Server } from "../server.ts";
import { ask, asking, type Asked } from "../tasks.ts";

const form = {
  type: "object",
  required: ["total"],
  properties: {
    total: { type: "number", title: "Total", exclusiveMinimum: 0, description: "As it is **printed**." },
    checked: { type: "boolean", title: "Checked" },
    note: { type: "string", title: "Note" },
  },
};

/** Invoices that a person is to approve. */
const approval = (users: string[]) => ({
  title: '${ "Approve " + .number }',
  instructions: "Check the totals on **page 1**.\n\n- net\n- gross",
  assignees: { users },
  form,
  data: { total: "${ .total }" },
  outcomes: [
    { name: "approve", title: "Approve" },
    { name: "change", title: "Ask for changes" },
    { name: "reject", title: "Reject", style: "danger" },
  ],
  due: { hours: "${ .hours }" },
  show: { customer: "ACME", lines: [{ item: "lamp", price: 12.5 }], note: "Two pages" },
  priority: "${ .priority // 50 }",
});

const rows = (page: Page) => page.getByRole("region", { name: "List of tasks" }).getByRole("listitem");
const title = (page: Page) => page.getByRole("article").getByRole("heading", { level: 2 });

interface Seen {
  status: string;
  claimed_by?: { name: string };
  answer?: { outcome: string; data: unknown; comment?: string; files: { name: string }[]; by: { name: string } };
}
const look = (admin: Admin, asked: Asked) => admin.call<Seen>("GET", `/human-tasks/${asked.id}`);

/** Answers a task as a colleague does, in a browser of theirs. */
async function answerAs(server: Server, who: Person, asked: Asked, body: object): Promise<void> {
  const { email, password } = who;
  const cookie = (await post(server, "/session", { email, password })).headers.getSetCookie()[0]?.split(";")[0] ?? "";
  await post(server, `/human-tasks/${asked.id}/answer`, body, cookie);
}

test("a person goes through the inbox with the keyboard alone @keyboard", async ({
  page,
  admin,
  server,
  signIn,
  inspect,
  watch,
}) => {
  const [person, colleague] = [someone("Ada Lovelace"), someone("Emmy Noether")];
  await admin.admit(person, [{ role: "operator" }]);
  await admin.admit(colleague, [{ role: "operator" }]);
  const workflow = await asking(admin, approval([person.email, colleague.email]));
  const asked: Asked[] = [];
  for (const [i, number] of ["4711", "4712", "4713", "4714", "4715"].entries()) {
    asked.push(await ask(admin, workflow, { number, total: 1204 + i, hours: i + 1, priority: i === 1 ? 80 : 50 }));
  }
  const [first, second, third, fourth, fifth] = asked as [Asked, Asked, Asked, Asked, Asked];
  const press = (...keys: string[]) =>
    keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
  await signIn(person);
  await page.goto("/");
  await expect(page.getByRole("link", { name: "Inbox 5" })).toBeVisible();
  await press("g", "i");
  await expect(page).toHaveURL("/inbox");
  await expect(rows(page)).toHaveCount(5);
  await expect(page.getByText("Choose a task from the list.")).toBeVisible();
  await inspect("inbox-list");
  await press("?");
  await expect(page.getByRole("dialog").getByText("In the inbox")).toBeVisible();
  await inspect("inbox-keys");
  await press("Escape");

  // Claim, release, and answer at once. The next task is open then, and nothing was asked twice.
  await press("j");
  await expect(title(page)).toHaveText("Approve 4711");
  await expect(page).toHaveURL(`/inbox/${first.id}`);
  await inspect("inbox-task");
  await press("c");
  await expect(page.getByRole("article").getByText("claimed by you")).toBeVisible();
  expect(await look(admin, first)).toMatchObject({ status: "claimed", claimed_by: { name: "Ada Lovelace" } });
  await press("u");
  await expect(page.getByRole("button", { name: "Claim" })).toBeVisible();
  await press("1");
  await expect(page.getByText("Enter answers with Approve.")).toBeVisible();
  await expectVisibleFocus(page);
  await press("Enter");
  await expect(page.getByText("Approve 4711: Approve")).toBeVisible();
  await expect(title(page)).toHaveText("Approve 4712");
  await expect(rows(page)).toHaveCount(4);
  await expectVisibleFocus(page);
  expect(await look(admin, first)).toMatchObject({
    status: "answered",
    answer: { outcome: "approve", data: { total: 1204 }, by: { name: "Ada Lovelace" } },
  });

  // The server refuses what does not fit. What was typed stays, the first wrong field has the focus.
  const total = page.getByLabel("Total");
  await page.keyboard.press("Tab");
  for (let stops = 0; stops < 60 && !(await total.evaluate((field) => field === document.activeElement)); stops++) {
    await press("Tab");
  }
  await press("ControlOrMeta+a");
  await page.keyboard.type("-1");
  await press("Escape");
  await expect(title(page)).toBeFocused();
  await press("m");
  await page.keyboard.type("Please look again");
  await press("Escape", "3", "Enter");
  await expect(total).toHaveAttribute("aria-invalid", "true");
  await expect(total).toBeFocused();
  await expect(page.getByRole("alert")).toContainText("1 thing is not right yet:");
  await inspect("inbox-refused");
  expect(watch.take()).toEqual([expect.stringMatching(/^422 for .*\/answer$/)]);
  expect(await look(admin, second)).toMatchObject({ status: "open" });
  // It is kept, also after another task, and after the page was loaded again.
  await press("Escape", "n");
  await expect(title(page)).toHaveText("Approve 4713");
  await press("k");
  await expect(title(page)).toHaveText("Approve 4712");
  await page.reload();
  await expect(total).toHaveValue("-1");
  await total.focus();
  await press("ControlOrMeta+a");
  await page.keyboard.type("12,5");
  await press("Escape", "3", "Enter");
  await expect(title(page)).toHaveText("Approve 4713");
  expect(await look(admin, second)).toMatchObject({
    answer: { outcome: "reject", data: { total: 12.5 }, comment: "Please look again" },
  });

  // A colleague is first. Their answer is shown beside the own one, which is not sent.
  await press("m");
  await page.keyboard.type("Twice on the list");
  await press("Escape");
  const theirs = { outcome: "approve", data: { total: 7 }, comment: "All fine" };
  await page.route(
    "**/answer",
    async (route) => {
      await answerAs(server, colleague, third, theirs);
      await route.continue();
    },
    { times: 1 },
  );
  await press("3", "Enter");
  await expect(page.getByRole("alert")).toContainText("Emmy Noether was first, and answered: Approve");
  await expect(page.getByText("All fine").first()).toBeVisible();
  await expect(page.getByText("Twice on the list")).toBeVisible();
  await inspect("inbox-conflict");
  expect(watch.take()).toEqual([expect.stringMatching(/^409 for .*\/answer$/)]);
  await press("n");
  await expect(title(page)).toHaveText("Approve 4714");

  for (const [task, left] of [
    [fourth, "Approve 4715"],
    [fifth, undefined],
  ] as const) {
    await press("2", "Enter");
    await (left === undefined ? expect(title(page)).toHaveCount(0) : expect(title(page)).toHaveText(left));
    expect(await look(admin, task)).toMatchObject({ answer: { outcome: "change" } });
  }
  // What a colleague has answered stays in its place, until the list is shown anew.
  await expect(rows(page)).toHaveText([/Approve 4713.*no longer here/]);
  await press("r");
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  await page.getByRole("link", { name: "Done" }).focus();
  await press("Enter");
  await expect(rows(page)).toHaveCount(4);
  await inspect("inbox-done");
});

const damage = {
  title: "Photograph the damage",
  instructions: "Take a **photo** of each part, and list them.",
  form: {
    type: "object",
    required: ["parts"],
    properties: {
      parts: {
        type: "array",
        title: "Parts",
        items: { type: "object", required: ["name"], properties: { name: { type: "string", title: "Part" } } },
      },
    },
  },
  upload: { accept: ["image/*"], max: 3, required: true },
  outcomes: ["done", { name: "skip", title: "Nothing to see" }],
};

const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

const photo = (name: string) => ({ name, mimeType: "image/png", buffer: pixel });

test.describe("on a phone", () => {
  test.use({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });

  test("a person answers with photos and a list", async ({ page, admin, signIn, hand, inspect, watch }) => {
    const workflow = await asking(admin, { ...damage, assignees: { groups: [] } }, { namespace: "damage" });
    const asked = await ask(admin, workflow);
    const person = someone("Anna Kuliscioff");
    await admin.admit(person, [{ role: "participant" }]);
    await signIn(person);
    await page.goto("/");
    // A participant begins with the inbox, and sees nothing beside it that is not theirs.
    await expect(page).toHaveURL("/inbox");
    await hand.follow("Unassigned 1");
    await expect(rows(page)).toHaveCount(1);
    await inspect("inbox-phone-list");
    await hand.follow("Photograph the damage");
    await expect(page).toHaveURL(`/inbox/${asked.id}?view=unassigned`);
    await expect(title(page)).toBeFocused();
    await expect(page.getByRole("region", { name: "List of tasks" })).toBeHidden();
    await hand.press("done");
    await expect(page.getByText("The task asks for a file.").first()).toBeVisible();
    expect(watch.take()).toEqual([expect.stringMatching(/^422 for .*\/answer$/)]);

    await hand.press("Add an entry to Parts");
    await hand.fill("Part", "bumper");
    await hand.press("Add an entry to Parts");
    await page.getByLabel("Part", { exact: true }).nth(1).fill("left door");
    const camera = page.getByLabel("Take a photo");
    await expect(camera).toHaveAttribute("capture", "environment");
    await camera.setInputFiles(photo("bumper.png"));
    await expect(page.getByRole("button", { name: "Remove bumper.png" })).toBeVisible();
    await page.getByLabel("Files, at most 3").setInputFiles([photo("door.png")]);
    await expect(page.getByRole("button", { name: "Remove door.png" })).toBeVisible();
    await inspect("inbox-phone-task");
    for (const each of await page.getByRole("article").locator("button:visible, input:visible, a:visible").all()) {
      const box = await each.boundingBox();
      expect(Math.round(box?.height ?? 0), await each.evaluate((e) => e.outerHTML)).toBeGreaterThanOrEqual(44);
    }
    await page.getByRole("link", { name: "Back to the list" }).click();
    await expect(rows(page)).toHaveCount(1);
    await hand.follow("Photograph the damage");
    await hand.press("done");
    await expect(page.getByText("Photograph the damage: done")).toBeVisible();
    await expect(page.getByText("No task is without an assignee.")).toBeVisible();
    expect(await look(admin, asked)).toMatchObject({
      status: "answered",
      answer: {
        data: { parts: [{ name: "bumper" }, { name: "left door" }] },
        files: [{ name: "bumper.png" }, { name: "door.png" }],
      },
    });
    await page.getByRole("link", { name: "Show it" }).click();
    await expect(page.getByText("You answered: done").first()).toBeVisible();
    await inspect("inbox-phone-answered");
  });
});

test("several tasks are answered together, and what was not is said", async ({
  page,
  admin,
  signIn,
  hand,
  inspect,
}) => {
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "operator" }]);
  const group = await admin.call<{ id: string }>("POST", "/groups", { name: `Clerks ${person.email}` });
  const { data } = await admin.call<{ data: { id: string }[] }>("GET", `/users?q=${person.email}`);
  await admin.call("PUT", `/groups/${group.id}/members/${data[0]?.id}`);
  const groups = [`Clerks ${person.email}`];
  const outcomes = ["sent", "lost"];
  const letters = await asking(admin, { title: '${ "Letter " + .to }', assignees: { groups }, outcomes });
  const asked = [await ask(admin, letters, { to: "A" }), await ask(admin, letters, { to: "B" })];
  const needs = { type: "object", required: ["why"], properties: { why: { type: "string" } } };
  const more = await asking(admin, { title: "Letter with a reason", assignees: { groups }, outcomes, form: needs });
  const open = await ask(admin, more);
  const other = await ask(admin, letters, { to: "C" });
  await signIn(person);
  await page.goto("/inbox");
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  await hand.follow("My groups 4");
  await expect(rows(page)).toHaveCount(4);
  await page.keyboard.press("j");
  await expect(title(page)).toHaveText("Letter A");
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await expect(title(page)).toHaveText("Letter B");
  await page.keyboard.press("Shift+X");
  await expect(page.getByLabel("Select Letter A")).toBeChecked();
  await expect(page.getByLabel("Select Letter B")).toBeChecked();
  await page.getByLabel("Select Letter with a reason").check();
  await inspect("inbox-selected");
  await hand.press("Answer them together");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("sent").check();
  await dialog.getByLabel("Comment").fill("By the morning post");
  await inspect("inbox-bulk");
  await hand.press("Answer 3 tasks");
  await expect(dialog).toContainText("2 tasks were answered. 1 was not:");
  await expect(dialog).toContainText("Letter with a reason It asks for more than a decision.");
  await inspect("inbox-bulk-done");
  for (const each of asked) {
    expect(await look(admin, each)).toMatchObject({ answer: { outcome: "sent", comment: "By the morning post" } });
  }
  await dialog.getByRole("link", { name: "Letter with a reason" }).click();
  await expect(title(page)).toHaveText("Letter with a reason");
  await expect(rows(page)).toHaveCount(2);
  expect(await look(admin, open)).toMatchObject({ status: "open" });
  expect(await look(admin, other)).toMatchObject({ status: "open" });
});

test("what is typed is on the server after a moment, and in another browser", async ({
  page,
  browser,
  admin,
  signIn,
  hand,
  server,
  others,
}) => {
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "participant" }]);
  const task = await ask(admin, await asking(admin, { ...damage, assignees: { users: [person.email] } }));
  await signIn(person);
  await page.goto(`/inbox/${task.id}`);
  const letThrough = await holdBack(page, "**/draft", "PUT");
  await hand.press("Add an entry to Parts");
  await hand.fill("Part", "bumper");
  await page.getByLabel("Files, at most 3").setInputFiles(photo("bumper.png"));
  await expect(page.getByRole("button", { name: "Remove bumper.png" })).toBeVisible();
  await hand.fill("Comment", "More to come");
  await expect(page.getByText(/^Kept in this window/)).toBeVisible();
  await letThrough();
  await expect(page.getByText(/^Saved/)).toBeVisible();

  expect(others).toEqual([]);
  const context = await browser.newContext({ storageState: await page.context().storageState() });
  const elsewhere = await context.newPage();
  await elsewhere.goto(`${server.url}/inbox/${task.id}`);
  await expect(elsewhere.getByLabel("Part", { exact: true })).toHaveValue("bumper");
  await expect(elsewhere.getByLabel("Comment", { exact: true })).toHaveValue("More to come");
  await expect(elsewhere.getByRole("button", { name: "Remove bumper.png" })).toBeVisible();
  await elsewhere.getByRole("button", { name: "Begin again" }).click();
  await expect(elsewhere.getByLabel("Comment", { exact: true })).toHaveValue("");
  await expect.poll(async () => (await page.request.get(`/api/v1/human-tasks/${task.id}/draft`)).json()).toEqual({});
  await context.close();
});

test("an empty form never stands for a draft that could not be read, and a failed save is tried again", async ({
  page,
  admin,
  signIn,
  hand,
  watch,
}) => {
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "participant" }]);
  const task = await ask(admin, await asking(admin, { ...damage, assignees: { users: [person.email] } }));
  const comment = page.getByLabel("Comment", { exact: true });
  await signIn(person);
  await page.goto(`/inbox/${task.id}`);
  await expect(comment).toBeVisible();
  await page.route("**/draft", (route) => route.abort(), { times: 1 });
  await hand.fill("Comment", "More to come");
  await expect(page.getByText("the server could not save it.")).toBeVisible();
  await expect(page.getByText(/^Saved/)).toBeVisible();
  expect(watch.take().length).toBeGreaterThan(0);

  await page.evaluate(() => sessionStorage.clear());
  await page.route("**/draft", (route) => route.fulfill({ status: 409 }), { times: 1 });
  await page.reload();
  await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
  await expect(comment).toHaveCount(0);
  await hand.press("Try again");
  await expect(comment).toHaveValue("More to come");
  expect(watch.take().length).toBeGreaterThan(0);

  // What the server does not discard would come back.
  await page.route("**/draft", (route) => route.fulfill({ status: 503 }), { times: 1 });
  await hand.press("Begin again");
  await expect(comment).toHaveValue("");
  await expect(page.getByText("The server still has what was entered before")).toBeVisible();
  await hand.press("Try again");
  await expect(page.getByText("The server still has what was entered before")).toHaveCount(0);
  await expect.poll(async () => (await page.request.get(`/api/v1/human-tasks/${task.id}/draft`)).json()).toEqual({});
  expect(watch.take().length).toBeGreaterThan(0);
});

test("a draft with a file that may not be described is not lost", async ({ page, admin, signIn, hand, watch }) => {
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "participant" }]);
  const task = await ask(admin, await asking(admin, { ...damage, assignees: { users: [person.email] } }));
  await signIn(person);
  await page.goto(`/inbox/${task.id}`);
  await page.getByLabel("Files, at most 3").setInputFiles(photo("bumper.png"));
  await hand.fill("Comment", "More to come");
  await expect(page.getByText(/^Saved/)).toBeVisible();
  await page.evaluate(() => sessionStorage.clear());
  await page.route(/\/api\/v1\/files\/[^/]+$/, (route) => route.fulfill({ status: 403 }), { times: 1 });
  await page.reload();
  await expect(page.getByLabel("Comment", { exact: true })).toHaveValue("More to come");
  await expect(page.getByRole("button", { name: /^Remove / })).toHaveCount(1);
  expect(watch.take()).toEqual([expect.stringMatching(/^403 for .*\/files\//)]);
});

test("a person who may not see an execution sees what its task shows, and at once what others do", async ({
  page,
  admin,
  signIn,
  server,
}) => {
  const [person, colleague] = [someone("Ada Lovelace"), someone("Emmy Noether")];
  await admin.admit(person, [{ role: "participant" }]);
  await admin.admit(colleague, [{ role: "participant" }]);
  const users = [person.email, colleague.email];
  const letter = await admin.call<{ reference: object }>("POST", "/files?filename=letter.json", { dear: "Ada" });
  const files = ["${ .letter }", "${ .broken }"];
  const workflow = await asking(admin, { title: "Read the letter", assignees: { users }, files });
  // What is no reference is data of the workflow too, and keeps nothing else from being shown.
  const uri = "http://[/api/v1/files/00000000-0000-4000-8000-000000000000";
  const input = { letter: letter.reference, broken: { uri, name: { of: "no text" }, size: "many" } };
  const task = await ask(admin, workflow, input);
  await signIn(person);
  await page.goto(`/inbox/${task.id}`);
  await expect(page.getByRole("article").getByText("dear")).toBeVisible();
  await expect(page.getByRole("region", { name: "Files" }).getByRole("figure")).toHaveCount(1);
  await expect(page.getByRole("link", { name: "Inbox 1" })).toBeVisible();
  const again = await ask(admin, workflow, input);
  await expect(page.getByRole("link", { name: "Inbox 2" })).toBeVisible();
  await answerAs(server, colleague, task, { outcome: "done" });
  await expect(page.getByText("Emmy Noether answered: done").first()).toBeVisible();
  await answerAs(server, colleague, again, { outcome: "done" });
  await expect(page.getByRole("link", { name: "Inbox", exact: true })).toBeVisible();
});

test("an answer that arrives late does not lead away from what is open by then", async ({
  page,
  admin,
  signIn,
  hand,
}) => {
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "operator" }]);
  const users = [person.email];
  const titles = ["First", "Second", "Third"];
  for (const [i, each] of titles.entries()) {
    await ask(admin, await asking(admin, { title: each, assignees: { users }, due: { hours: i + 1 } }));
  }
  await signIn(person);
  await page.goto("/inbox");
  await expect(rows(page)).toHaveCount(3);
  for (const each of ["First", "Second"]) {
    await page.getByLabel(`Select ${each}`).check();
  }
  await hand.follow("First");
  const letThrough = await holdBack(page, "**/answer", "POST");
  await page.getByRole("article").getByRole("button", { name: "done" }).click();
  await hand.follow("Third");
  await expect(title(page)).toHaveText("Third");
  await letThrough();
  await expect(page.getByText("First: done")).toBeVisible();
  await expect(title(page)).toHaveText("Third");
  // What was answered is selected no more.
  await expect(page.getByRole("group", { name: "1 selected" })).toBeVisible();
});

test("an execution that waits for a person says so everywhere, and leads to the task", async ({
  page,
  admin,
  signIn,
  hand,
  inspect,
}) => {
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "operator" }]);
  const workflow = await asking(admin, {
    title: "Look at it",
    assignees: { users: [person.email, "unknown@example.org"] },
    due: { hours: 1 },
  });
  const task = await ask(admin, workflow);
  await signIn(person);
  await page.goto(`/executions?filter=workflow:${workflow.name}`);
  await expect(page.getByRole("table").getByText("needs a person")).toBeVisible();
  await hand.follow("for a person");
  await expect(title(page)).toHaveText("Look at it");
  await page.getByText("What led here").click();
  await expect(page.getByRole("tree").getByText("needs a person")).toBeVisible();
  await inspect("inbox-led");
  const shorten = page.getByRole("checkbox", { name: "Collapse idle time" });
  await shorten.uncheck();
  await expect(shorten).not.toBeChecked();
  await page.getByRole("treeitem").click();
  await expect(page).toHaveURL(`/executions/${task.execution}?task=/do/0/ask`);
  const links = page.getByRole("link", { name: "Open the task" });
  await expect(links).toHaveCount(2); // beside the state, and in the inspector
  await expect(page.getByText("Not known here: unknown@example.org")).toBeVisible();
  await inspect("execution-waits");
  await hand.follow("Graph");
  await page.getByRole("button", { name: "Outline" }).click();
  await expect(page.getByRole("tree").getByText("needs a person")).toBeVisible();
  await links.first().click();
  await expect(page).toHaveURL(`/inbox/${task.id}?view=all`);
  await page.getByRole("article").getByRole("button", { name: "done" }).click();
  await expect(page.getByText("Look at it: done")).toBeVisible();
  await page.goto(`/executions/${task.execution}`);
  await expect(links).toHaveCount(0);
});

test("another filter closes a task that it does not have, and opening one changes no filter", async ({
  page,
  admin,
  signIn,
}) => {
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "operator" }]);
  const users = [person.email];
  const [mine, late] = [
    await ask(admin, await asking(admin, { title: "Plain", assignees: { users } })),
    await ask(admin, await asking(admin, { title: "Late", assignees: { users }, due: { milliseconds: 1 } })),
  ];
  await signIn(person);
  await page.goto("/inbox");
  await page.getByRole("link", { name: "Plain" }).click();
  await expect(page).toHaveURL(`/inbox/${mine.id}`);
  await page.getByLabel("Overdue only").check();
  await expect(page).toHaveURL("/inbox?overdue=true");
  await expect(title(page)).toHaveCount(0);
  await expect(rows(page)).toHaveText([/Late.*overdue/]);
  await page.getByRole("link", { name: "Late" }).click();
  await expect(page).toHaveURL(`/inbox/${late.id}?overdue=true`);
  await expect(title(page)).toHaveText("Late");
  // The task is in the other filter, too: it stays open.
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await expect(page).toHaveURL(`/inbox/${late.id}`);
  await expect(rows(page)).toHaveCount(2);
  await expect(title(page)).toHaveText("Late");
  // A link to a task works whatever the filter of the list is.
  await page.goto(`/inbox/${mine.id}?overdue=true`);
  await expect(title(page)).toHaveText("Plain");
});
