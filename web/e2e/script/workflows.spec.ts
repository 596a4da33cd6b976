import type { Page } from "@playwright/test";
import { expect, test } from "../harness.ts";
import { answerWith } from "../hold.ts";
import { Admin, someone } from "../people.ts";
import { apply, greets, refuse, run, waits } from "../workflows.ts";

const fails = [{ refuse: refuse() }];

const rows = (page: Page) => page.getByRole("table", { name: "Workflows" }).locator("tbody tr");

test("a person finds a workflow, sees how it does, and reads its definition", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const tag = "orders";
  const namespace = `found-${crypto.randomUUID().slice(0, 8)}`; // it has these three and nothing else
  const good = await apply(admin, greets, {
    document: { namespace, title: "Greet a customer", tags: { team: tag } },
  });
  const bad = await apply(admin, fails, { document: { namespace } });
  const slow = await apply(admin, waits, { document: { namespace } });
  await run(admin, good, { name: "Ada" });
  const failed = await run(admin, bad);
  await run(admin, slow, {}, "0s");
  await signIn(member);

  await page.goto("/executions");
  await hand.follow("Workflows");
  await expect(page).toHaveURL("/workflows");
  await hand.fill("Namespace", namespace);
  await hand.press("Apply");
  await expect(page).toHaveURL(`/workflows?namespace=${namespace}`);
  await expect(rows(page).filter({ hasText: bad.name })).toContainText("1 failed");
  await expect(rows(page).filter({ hasText: slow.name })).toContainText("1 open");
  await inspect("workflows");

  await rows(page).filter({ hasText: bad.name }).getByRole("link", { name: "1 failed" }).click();
  await expect(page).toHaveURL(`/executions?filter=state:error+workflow:${bad.name}+from:-24h`);
  await expect(page.locator(`[data-row="${failed}"]`)).toBeVisible();
  await page.goBack();

  await rows(page)
    .getByRole("button", { name: `team:${tag}` })
    .first()
    .click();
  await expect(page).toHaveURL(new RegExp(`tag=team:${tag}`));
  await expect(page.locator("search")).toHaveCount(1);
  await expect(rows(page)).toHaveCount(1);
  await hand.follow("Greet a customer");
  await expect(page).toHaveURL(`/workflows/${good.name}`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Greet a customer");
  await expect(page.locator(".lines")).toContainText("greeting");
  await inspect("workflow-definition");
  await page.goBack();
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByLabel("Tag", { exact: true })).toHaveValue(`team:${tag}`);
  await hand.press("Clear the filters");
  await expect(page).toHaveURL("/workflows");
});

test("a list of workflows says that it is empty, that it loads, and what went wrong", async ({
  page,
  member,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  await signIn(member);
  await page.goto("/workflows?q=nothing-has-this-name");
  await expect(page.getByText("No workflows match.")).toBeVisible();
  await inspect("workflows-none");

  let answer: (() => void) | undefined;
  const held = new Promise<void>((go) => (answer = go));
  await page.route("**/api/v1/workflows?*", async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/workflows?q=another");
  await expect(page.getByRole("status", { name: "Loading" })).toBeVisible();
  await inspect("workflows-loading");
  answer?.();
  await expect(page.getByText("No workflows match.")).toBeVisible();
  await page.unrouteAll({ behavior: "wait" });

  await answerWith(page, "**/api/v1/workflows?*", { status: 400, title: "The query is wrong" });
  await page.goto("/workflows?q=third");
  await expect(page.getByRole("alert")).toContainText("The query is wrong");
  await expect(page.getByRole("alert")).toContainText("0f1e2d3c");
  await expect(page.getByRole("link", { name: "What this error means" })).toHaveAttribute("href", /problems\/spoiled$/);
  await inspect("workflows-failing");
  expect(watch.take().filter((line) => !line.startsWith("400 for "))).toEqual([]);
  await page.unrouteAll({ behavior: "wait" });
  await hand.press("Try again");
  await expect(page.getByText("No workflows match.")).toBeVisible();
});

test("where there is no workflow yet, the page says how to add one", async ({ page, fresh, inspect }) => {
  const server = await fresh();
  const admin = await Admin.of(server);
  const person = someone();
  await admin.admit(person);
  await page.goto(`${server.url}/sign-in?return=/workflows`);
  await page.getByLabel("E-mail").fill(person.email);
  await page.getByLabel("Password", { exact: true }).fill(person.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByText("There is no workflow yet.")).toBeVisible();
  await inspect("workflows-empty");
});

test("a publisher rolls a workflow back, and what has begun stays on its version", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
}) => {
  const first = await apply(admin, waits);
  const [namespace, name] = first.name.split("/");
  await run(admin, first, {}, "0s");
  const document = { dsl: "1.0.3", namespace, name, version: "1.1.0" };
  await admin.call("POST", "/workflows?message=Greet+at+once", { document, do: [...greets, ...waits] });
  const begun = await run(admin, first, { name: "Ada" }, "0s");
  await enter("publisher", "Alan Turing");

  await page.goto(`/workflows/${first.name}`);
  await expect(page.getByText("Version 1.1.0")).toBeVisible();
  await hand.follow("Versions");
  await expect(page).toHaveURL(`/workflows/${first.name}?tab=versions`);
  const table = page.getByRole("table", { name: "Versions" });
  await expect(table.getByRole("row", { name: /1\.1\.0/ })).toContainText("published");
  await expect(table.getByRole("row", { name: /1\.1\.0/ })).toContainText("Greet at once");
  await expect(table.getByRole("row", { name: /1\.1\.0/ })).toContainText("Grace Hopper");
  await expect(table.getByRole("row", { name: /1\.0\.0/ })).toContainText("1 execution");
  await inspect("workflow-versions");
  await expect(page.locator(".tabs [aria-current]")).toHaveText(["Versions"]);
  await hand.press("Roll back to version 1.0.0");
  await expect(page.getByRole("dialog")).toBeVisible();
  await inspect("workflow-publish");
  await hand.press("Roll back");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(table.getByRole("row", { name: /1\.0\.0/ })).toContainText("published");
  await expect(table.getByRole("row", { name: /1\.1\.0/ })).not.toContainText("published");
  await expect(table.getByRole("row", { name: /1\.1\.0/ })).toContainText("1 execution");
  const version = async (id: string) =>
    (await admin.call<{ workflow_version: string }>("GET", `/executions/${id}`)).workflow_version;
  expect(await version(begun)).toBe("1.1.0");
  expect(await version(await run(admin, first, {}, "0s"))).toBe("1.0.0");
  await hand.follow("1.1.0");
  await expect(page.getByText("This is version 1.1.0.")).toBeVisible();
  await expect(page.locator(".lines")).toContainText("greeting");
  await inspect("workflow-older");
});

test("a workflow that is not there says so, and a participant sees no definition", async ({
  page,
  admin,
  enter,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, greets);
  await enter("participant", "Anna Kuliscioff");
  await page.goto(`/workflows/${workflow.name}?tab=versions`);
  await expect(page.getByRole("alert")).toContainText("You may not see this");
  await inspect("workflow-forbidden");
  await page.goto("/workflows/nothing/here");
  await expect(page.getByRole("alert")).toBeVisible();
  await inspect("workflow-missing");
  expect(watch.take().filter((line) => !/^40[34] for /.test(line))).toEqual([]);
});

/** Drops a file on the page, as from a window of the desktop. */
const dropFile = (page: Page, name: string, text: string) =>
  page.locator("main").evaluate(
    (element, file) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([file.text], file.name));
      for (const type of ["dragover", "drop"]) {
        element.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
      }
    },
    { name, text },
  );

test("a publisher deletes a workflow, what has begun continues, and the list says that it is gone", async ({
  page,
  admin,
  enter,
  hand,
  watch,
  inspect,
}) => {
  const namespace = `gone-${crypto.randomUUID().slice(0, 8)}`;
  const workflow = await apply(admin, waits, { document: { namespace } });
  const stays = await apply(admin, greets, { document: { namespace } });
  const begun = await run(admin, workflow, {}, "0s");
  await enter("publisher", "Alan Turing");
  await page.goto(`/workflows?namespace=${namespace}`);
  await expect(rows(page)).toHaveCount(2);
  await hand.follow(workflow.name);

  await hand.press("More");
  await expect(page.getByRole("group", { name: "More" })).toContainText(workflow.id);
  await inspect("workflow-more");
  await hand.press("Delete");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Executions that have begun continue");
  await expect(dialog).toContainText(workflow.id);
  await hand.fill(`Type ${workflow.name}`, "another");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(dialog).toContainText(`This is not ${workflow.name}.`);
  await expect(dialog.getByRole("textbox")).toBeFocused();
  await inspect("workflow-delete");
  await hand.fill(`Type ${workflow.name}`, workflow.name);

  await answerWith(page, "**/api/v1/workflows/*", { status: 409, title: "Another change was faster" });
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(dialog.getByRole("alert")).toContainText("Another change was faster");
  await page.unrouteAll({ behavior: "wait" });
  expect(watch.take().filter((line) => !line.startsWith("409 for "))).toEqual([]);

  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL("/workflows");
  await expect(page.getByText(`${workflow.name} is deleted.`)).toBeVisible();
  await inspect("workflows-deleted");
  await hand.fill("Namespace", namespace);
  await hand.press("Apply");
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText(stays.name);
  await page.goto(`/executions/${begun}`);
  await expect(page.locator(".execution-head")).toContainText("waiting");
  await page.goto("/workflows");
  await expect(page.locator(".list tbody tr").first()).toBeVisible();
  await expect(page.getByText(`${workflow.name} is deleted.`)).toHaveCount(0);
});

test("an author does not delete what was published, and a viewer has no Run", async ({ page, admin, enter, hand }) => {
  const namespace = `kept-${crypto.randomUUID().slice(0, 8)}`;
  const workflow = await apply(admin, greets, { document: { namespace } });
  await enter("author", "Ada Lovelace");
  await page.goto(`/workflows/${workflow.name}`);
  await hand.press("More");
  await expect(page.getByRole("group", { name: "More" })).toContainText(workflow.id);
  await expect(page.getByRole("button", { name: "Delete", exact: true })).toHaveCount(0);

  await enter("viewer", "Vera Rubin");
  await page.goto(`/workflows?namespace=${namespace}`);
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByRole("link", { name: `Run ${workflow.name}` })).toHaveCount(0);
});

test("a person starts a workflow from its row, and opens a file by dropping it on the list", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
}) => {
  const namespace = `rows-${crypto.randomUUID().slice(0, 8)}`;
  const workflow = await apply(admin, greets, { document: { namespace } });
  await enter("admin", "Alan Turing");
  await page.goto(`/workflows?namespace=${namespace}`);
  await inspect("workflows-rows");
  await hand.follow(`Run ${workflow.name}`);
  await expect(page).toHaveURL(`/workflows/${workflow.name}?tab=run`);
  await expect(page.getByRole("button", { name: "Start", exact: true })).toBeVisible();

  await page.goBack();
  await expect(rows(page)).toHaveCount(1);
  await dropFile(page, "notes.txt", "no definition");
  await expect(page.getByRole("alert")).toContainText("notes.txt was not opened");
  await dropFile(page, "dropped.yaml", "document: { dsl: '1.0.3', namespace: default, name: was-dropped }\n");
  await expect(page).toHaveURL("/workflows/new");
  const text = page.getByRole("textbox", { name: "Definition", exact: true });
  await expect(text).toContainText("was-dropped");
  await text.press("ControlOrMeta+z");
  await expect(text).toContainText("new-workflow");
});
