import { expect, test } from "../harness.ts";
import { answerWith } from "../hold.ts";
import { apply, refuse, run } from "../workflows.ts";

test("a retry from a task does not run those before it again", async ({ page, admin, enter, hand, inspect }) => {
  const workflow = await apply(admin, [{ greet: { set: { greeting: "${ .name }" } } }, { refuse: refuse() }]);
  const failed = await run(admin, workflow, { name: "Ada" });
  await enter("operator", "Alan Turing");
  await page.goto(`/executions/${failed}`);
  await hand.press("Retry from refuse");
  await expect(page.getByRole("dialog")).toContainText("Tasks before it are not run again.");
  await inspect("execution-retry-from");
  await hand.press("Start the retry");
  await expect(page).not.toHaveURL(new RegExp(failed));
  await expect(page.getByRole("treeitem", { name: /refuse/ })).toBeVisible();
  await expect(page.getByRole("treeitem")).toHaveCount(1);
});

test("a log is drawn as text, and searched", async ({ page, admin, member, signIn, hand, inspect }) => {
  const workflow = await apply(admin, [
    { say: { call: "log:1.0.0@default", with: { message: "\u001b[31mred\u001b[0m <b>not bold</b>" } } },
    { warn: { call: "log:1.0.0@default", with: { message: "a second line", level: "warning" } } },
  ]);
  const id = await run(admin, workflow);
  await signIn(member);
  await page.goto(`/executions/${id}?tab=log`);
  const log = page.getByRole("log", { name: "Lines of the log" });
  await expect(log).toContainText("red <b>not bold</b>");
  await expect(page.locator(".tabs [aria-current]")).toHaveText(["Log"]);
  await inspect("execution-log");
  await hand.fill("Text", "second");
  await hand.press("Apply");
  await expect(log).not.toContainText("not bold");
  await expect(log).toContainText("a second line");
  await hand.fill("Text", "nothing like this");
  await hand.press("Apply");
  await expect(page.getByText("No line matches.")).toBeVisible();
});

test("a loop of 10,000 passes opens as one row, with the pass that is asked for", async ({
  page,
  admin,
  member,
  signIn,
}) => {
  const check = { check: refuse({}, { if: "${ $n % 1000 == 7 }" }) };
  const attempt = { attempt: { try: [check], catch: { errors: { with: { status: 422 } } } } };
  const workflow = await apply(admin, [{ each: { for: { each: "n", in: "${ [range(10000)] }" }, do: [attempt] } }]);
  const id = await run(admin, workflow, {}, "60s");
  await signIn(member);
  await page.goto(`/executions/${id}?pass=5007&task=/do/0/each/do/0/attempt/try/0/check`);
  await expect(page.getByRole("spinbutton", { name: "Pass of each" })).toHaveValue("5008");
  await expect(page.getByRole("region", { name: "Run of the task" })).toContainText("Refused by Anna");
  await page.goto(`/executions/${id}`);
  await expect(page.getByRole("group", { name: "Pass of each" })).toContainText("10,000 passes");
  await expect(page.getByRole("treeitem")).toHaveCount(3);
  await page.getByRole("button", { name: "Previous failed pass" }).click();
  await expect(page).toHaveURL(/pass=9007/);
  await page.getByRole("treeitem", { name: /check/ }).click();
  await expect(page.getByRole("region", { name: "Run of the task" })).toContainText("Refused by Anna");
});

test("a timeline that is too long to be drawn says so, and shows the newest runs of a selected task", async ({
  page,
  admin,
  member,
  signIn,
  inspect,
}) => {
  const again = [{ again: { when: "${ .n < 300 }", then: "count" } }, { enough: { then: "last" } }];
  const workflow = await apply(admin, [
    { count: { set: { n: "${ (.n // 0) + 1 }" } } },
    { check: { switch: again } },
    { last: { set: { reached: "${ .n }" } } },
  ]);
  const id = await run(admin, workflow, {}, "60s");
  await signIn(member);
  await page.goto(`/executions/${id}`);
  const cut = page.getByText("Only the first 500 runs of these tasks are drawn together: count, check and last.");
  await expect(cut).toBeVisible();
  const inspector = page.getByRole("region", { name: "Run of the task" });
  await page.getByRole("treeitem", { name: /^last/ }).click();
  await expect(inspector).toContainText("reached");
  await page.getByRole("treeitem", { name: /^count/ }).click();
  await expect(inspector).toContainText("n: 300");
  await expect(inspector.getByRole("button", { name: "run 300", exact: true })).toHaveAttribute("aria-pressed", "true");
  await inspect("execution-cut");
});

test("a page that the server refuses, or is too busy for, says so", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  const id = await run(admin, await apply(admin, [{ greet: { set: { greeting: "hello" } } }]));
  await signIn(member);
  for (const status of [403, 500]) {
    await answerWith(page, "**/progress*", { status });
    await page.goto(`/executions/${id}`);
    await expect(page.getByRole("alert")).toContainText(status === 403 ? "You may not see this" : "Spoiled with 500");
    await inspect(`execution-answer-${status}`);
    await page.unroute("**/progress*");
  }
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("treeitem", { name: /greet/ })).toBeVisible();
  expect(watch.take().filter((line) => !/^(403|500) for /.test(line))).toEqual([]);
});
