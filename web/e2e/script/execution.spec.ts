import { expect, test } from "../harness.ts";
import { apply, refuse, run, waits } from "../workflows.ts";

test("a failed execution says why, shows the failing task, and is repeated with another input @keyboard", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [
    { greet: { set: { greeting: "${ .name }" } } },
    { refuse: refuse({ detail: "Too dear." }, { if: '${ .greeting != "Anna" }' }) },
  ]);
  await run(admin, workflow, { name: "Grace" });
  const failed = await run(admin, workflow, { name: "Ada" });
  await enter("operator", "Alan Turing");

  await page.goto(`/executions/${failed}`);
  const inspector = page.getByRole("region", { name: "Run of the task" });
  await expect(page.locator(".alert")).toContainText("Refused by Anna");
  const { started_at: started } = await admin.call<{ started_at: string }>("GET", `/executions/${failed}`);
  const began = page.locator(".execution-head").getByText(/^Started /);
  await expect(began.locator("time")).toHaveAttribute("datetime", started);
  const alike = page.locator(".alert").getByRole("link", { name: "2 times like this in 24 hours" });
  await expect(alike).toHaveAttribute("href", /failure%3A|failure:/);
  await expect(page.getByRole("treeitem", { name: /refuse/ })).toHaveAttribute("aria-selected", "true");
  await expect(inspector.getByRole("heading", { name: "refuse" })).toBeVisible();
  await expect(inspector).toContainText("Too dear.");
  // What a program has sent in one line is written over several. An operator is led to no editor.
  await inspector.getByText("Definition", { exact: true }).press("Enter");
  await expect(inspector.getByRole("region", { name: "Definition of refuse" })).toContainText('"status": 422');
  await expect(inspector.getByRole("link", { name: "Edit the task" })).toHaveCount(0);
  await inspect("execution-failed");

  await page.getByRole("tree", { name: "Tasks" }).focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await expect(inspector.getByRole("heading", { name: "greet" })).toBeVisible();
  await expect(page).toHaveURL(/task=\/do\/0\/greet/);
  await page.keyboard.press("Escape");
  await expect(inspector).toHaveCount(0);

  await hand.follow("Input/output");
  await expect(page).toHaveURL(/tab=io/);
  await expect(page.getByText('"Ada"')).toBeVisible();
  await inspect("execution-io");
  await hand.follow("About");
  await expect(page.getByText(failed, { exact: true })).toBeVisible();
  await inspect("execution-about");

  await hand.follow("Events");
  const events = page.getByRole("list", { name: "What has happened" }).getByRole("listitem");
  await expect(events).toHaveCount(4);
  await expect(events.last()).toContainText("refuse has failed · Too dear.");
  await page.getByLabel("Show", { exact: true }).selectOption("failed tasks");
  await expect(events).toHaveCount(1);
  await expect(page).toHaveURL(/type=failed/);
  await inspect("execution-events");
  await hand.follow("refuse");
  await expect(inspector.getByRole("heading", { name: "refuse" })).toBeVisible();

  await hand.press("Retry");
  await hand.fill("Input", "[");
  await expect(page.getByText("This is not JSON")).toBeVisible();
  await hand.fill("Input", '{"name": "Anna"}');
  await inspect("execution-retry");
  await hand.press("Start the retry");
  await expect(page).not.toHaveURL(new RegExp(failed));
  await expect(page.getByText("finished").first()).toBeVisible();
  await hand.follow(failed.slice(-8));
  await expect(page).toHaveURL(`/executions/${failed}`);
  await expect(page.getByText("Retried as")).toBeVisible();
  expect(await admin.call("GET", `/executions/${failed}`)).toMatchObject({ status: "error", input: { name: "Ada" } });
});

test("a loop is one row, and its failed passes are found", async ({ page, admin, member, signIn, hand, inspect }) => {
  const check = { check: refuse({}, { if: "${ $n % 100 == 7 }" }) };
  const attempt = { attempt: { try: [check], catch: { errors: { with: { status: 422 } } } } };
  const workflow = await apply(admin, [
    { each: { for: { each: "n", in: "${ [range(300)] }" }, do: [attempt] } },
    { end: { set: { done: true } } },
  ]);
  const id = await run(admin, workflow);
  await signIn(member);
  await page.goto(`/executions/${id}`);
  await expect(page.getByRole("treeitem")).toHaveCount(4);
  await expect(page.getByRole("group", { name: "Pass of each" })).toContainText("300 passes");
  await expect(page.getByRole("spinbutton", { name: "Pass of each" })).toHaveValue("300");
  await hand.press("Previous failed pass");
  await expect(page.getByRole("spinbutton", { name: "Pass of each" })).toHaveValue("208");
  await expect(page).toHaveURL(/pass=207/);
  await expect(page.getByRole("button", { name: "Next failed pass" })).toBeDisabled();
  await inspect("execution-loop");
  await page.getByLabel("Show", { exact: true }).selectOption("failed only");
  await expect(page.getByRole("treeitem")).toHaveCount(3);
  // A viewer may look, and change nothing.
  await expect(page.getByRole("button", { name: "Retry", exact: true })).toHaveCount(0);
  await hand.follow("Files");
  await hand.press("Show output.json");
  await expect(page.getByRole("figure", { name: "output.json" })).toContainText("done: true");
  await inspect("execution-file");
});

test("an execution that waits is suspended, resumed and cancelled", async ({ page, admin, enter, hand, inspect }) => {
  const workflow = await apply(admin, waits);
  const id = await run(admin, workflow, {}, "0s");
  await enter("operator", "Alan Turing");
  await page.goto(`/executions/${id}`);
  await expect(page.getByRole("treeitem", { name: /pause/ })).toContainText("waiting");
  await inspect("execution-waiting");
  await hand.press("Suspend");
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible();
  await hand.press("Resume");
  await expect(page.getByRole("button", { name: "Suspend" })).toBeVisible();
  await hand.press("Cancel");
  await inspect("execution-cancel");
  await hand.press("Cancel the execution");
  await expect(page.getByRole("button", { name: "Retry", exact: true })).toBeVisible();
  await hand.follow("Log");
  await hand.follow("Files");
  await expect(page.getByText("It has made no files.")).toBeVisible();
  await inspect("execution-files");
});

test("an execution that is not there says so", async ({ page, member, signIn, watch, inspect }) => {
  await signIn(member);
  await page.goto("/executions/01937c5e-8f00-7000-8000-00000000e8ec");
  await expect(page.getByRole("alert")).toBeVisible();
  await inspect("execution-missing");
  expect(watch.take().filter((line) => !line.startsWith("404 for "))).toEqual([]);
});
