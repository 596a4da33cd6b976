import type { Locator } from "@playwright/test";
import { expect, test } from "../harness.ts";
import { apply } from "../workflows.ts";

/** Pastes a text into a field. */
const paste = (field: Locator, text: string) =>
  field.evaluate((element, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", pasted);
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);

test("an admin sets a secret, sees who uses it, goes back to an earlier value, and deletes it", async ({
  page,
  admin,
  enter,
  hand,
  watch,
  inspect,
}) => {
  const name = `stock-token-${crypto.randomUUID().slice(0, 8)}`;
  await enter("admin"); // which is fresh for ten minutes
  await page.goto("/admin/secrets");
  await expect(page.getByRole("heading", { name: "Secrets" })).toBeVisible();
  await hand.press("New secret");
  await hand.fill("Name", name);
  await hand.fill("Text", "k-71-ocelot");
  await page.getByLabel("Who may use it").selectOption("lists");
  await hand.fill("Workflows", "no-slash");
  await hand.press("Save the secret");
  await expect(page.getByLabel("Workflows", { exact: true })).toHaveAttribute("aria-invalid", "true");
  const missing = expect.stringMatching(/^404 for .*\/secrets\//); // whether the name is free is asked before
  expect(watch.take()).toEqual([missing, expect.stringMatching(/^4\d\d for .*\/secrets\//)]);
  await inspect("secrets-new");
  await page.getByLabel("Who may use it").selectOption("all");
  await hand.press("Save the secret");
  await expect(page.getByRole("heading", { name })).toBeVisible();
  await expect(page.getByText("No published workflow declares it.")).toBeVisible();
  expect(watch.take()).toEqual([missing]);

  const more = { use: { secrets: [name] } };
  const workflow = await apply(admin, [{ greet: { set: { n: 1 } } }], more as object);
  await hand.press("Set a new value");
  await page.getByLabel("Value", { exact: true }).selectOption("json");
  await hand.fill("JSON", "{nothing");
  await hand.press("Save the secret");
  await expect(page.getByText("This is no JSON:")).toBeVisible();
  await hand.fill("JSON", '{"token": "k-72-marmot"}');
  await page.getByLabel("Who may use it").selectOption("lists");
  await hand.press("Save the secret");
  await expect(page.getByText("Name a workflow or a namespace.")).toBeVisible();
  await hand.fill("Namespaces", workflow.name.split("/")[0] ?? "");
  await hand.press("Save the secret");
  await expect(page.getByRole("row", { name: /Version 2/ })).toContainText("counts now");
  await hand.press("Set a new value");
  await page.getByLabel("Who may use it").selectOption("lists");
  await expect(page.getByLabel("Namespaces", { exact: true })).toHaveValue(workflow.name.split("/")[0] ?? "");
  await paste(page.getByLabel("Text", { exact: true }), "first\nsecond");
  await expect(page.getByText("These are several lines.")).toBeVisible();
  await hand.press("Cancel");
  await expect(page.getByRole("link", { name: workflow.name })).toBeVisible();
  await hand.press("Use again: version 1");
  await hand.press("Use again");
  await expect(page.getByRole("row", { name: /Version 3/ })).toContainText("the value of version 1 again");
  await inspect("secret");
  expect(await page.content()).not.toMatch(/ocelot|marmot/);

  await hand.follow("All secrets");
  await expect(page.getByRole("row", { name: new RegExp(name) })).toContainText("3");
  await inspect("secrets");

  // A new secret takes no name that there is, and leaves what has it as it is.
  await hand.press("New secret");
  await hand.fill("Name", name);
  await hand.fill("Text", "another");
  await hand.press("Save the secret");
  await expect(page.getByText("There is a secret of this name already.")).toBeVisible();
  await inspect("secrets-taken");
  await hand.press("Cancel");
  await expect(page.getByRole("row", { name: new RegExp(name) })).toContainText("3");
  await hand.follow(name);
  await hand.press("Delete");
  await expect(page.getByText("1 workflow declares it.")).toBeVisible();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL("/admin/secrets");
  const secrets = page.getByRole("table", { name: "Secrets" });
  await expect(secrets.or(page.getByText("There is no secret in this environment."))).toBeVisible();
  await expect(page.getByText(name)).toHaveCount(0);
});

test("limits say what is used of them and which setting changes them; a viewer sees no secrets", async ({
  page,
  member,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  await signIn(member);
  await page.goto("/admin/limits");
  await expect(page.getByRole("row", { name: /body_bytes .*1 MiB/ }).first()).toBeVisible();
  await page.getByLabel("Show").selectOption("used");
  await expect(page.getByRole("row", { name: /storage_bytes/ }).first()).toContainText("--quota-storage");
  await inspect("limits");
  await hand.fill("Filter", "nothing like this");
  await expect(page.getByText("No limit matches.")).toBeVisible();
  await hand.press("Clear the filter");
  await expect(page.getByRole("row", { name: /json_depth/ })).toContainText("fixed");

  await page.goto("/admin/secrets");
  await expect(page.getByText("You may not see this")).toBeVisible();
  await expect(page.getByRole("button", { name: "New secret" })).toHaveCount(0);
  expect(watch.take()).toEqual([expect.stringMatching(/^403 for .*\/secrets/)]);
  await inspect("secrets-forbidden");
});
