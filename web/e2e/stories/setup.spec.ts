import { expect, test } from "../harness.ts";
import { someone } from "../people.ts";

test("the link that the server prints makes the first admin, once @keyboard", async ({
  page,
  hand,
  inspect,
  way,
  fresh,
  browser,
}) => {
  const server = await fresh();
  const link = await server.setupLink();
  const admin = someone("Grace Hopper");

  await page.goto(`${server.url}/sign-in`);
  await expect(page).toHaveURL(`${server.url}/setup`);
  await expect(page).toHaveTitle("Set up Chargehand – Chargehand");

  await hand.open(link);
  if (way !== "without script") {
    await expect(page.getByLabel("Name")).toBeFocused();
  }
  await inspect("setup");
  await hand.fill("Name", admin.name);
  await hand.fill("E-mail", admin.email);
  await hand.fill("Password", "password1234");
  await hand.press("Make the admin and sign in");

  await expect(page.getByRole("alert")).toBeVisible();
  await expect(page).toHaveTitle(/^Error: /);
  await expect(page.getByLabel("Password")).toHaveAttribute("aria-invalid", "true");
  await expect(page.getByLabel("Password")).toHaveValue("");
  await expect(page.getByLabel("Name")).toHaveValue(admin.name);
  await expect(page.getByLabel("E-mail")).toHaveValue(admin.email);
  await inspect("setup-refused");
  await hand.fill("Password", admin.password);
  await hand.press("Make the admin and sign in");

  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await expect(page.getByText(admin.email)).toBeVisible();

  // The link is worth nothing to who finds it later.
  const other = await browser.newContext();
  const late = await other.newPage();
  const answer = await late.goto(`${server.url}/setup`);
  expect(answer?.status()).toBe(200);
  await late.getByLabel("Token").fill(new URL(link).hash.slice("#token=".length));
  await late.getByLabel("Name").fill("Mallory");
  await late.getByLabel("E-mail").fill("mallory@example.com");
  await late.getByLabel("Password").fill("a long walk by the sea");
  await late.getByRole("button").click();
  await expect(late.getByRole("alert")).toBeVisible();
  await expect(late.getByText("You are signed in")).toHaveCount(0);
  await other.close();
});
