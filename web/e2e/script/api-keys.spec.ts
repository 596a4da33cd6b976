import { expect, test } from "../harness.ts";
import { answerWith } from "../hold.ts";
import { snippetsOf } from "../snippets.ts";

test("a person makes a key, uses it as the page says, and revokes it @keyboard", async ({
  page,
  member,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  await signIn(member);
  await page.goto("/account/api-keys");
  await expect(page.getByText("You have no API key yet.")).toBeVisible();
  await inspect("api-keys-none");

  await hand.press("New key");
  await hand.fill("Name", "nightly import");
  // A viewer may give no more than a viewer has.
  await expect(page.getByRole("radio", { name: /^observe/ })).toBeChecked();
  await expect(page.getByRole("radio", { name: /^run/ })).toBeDisabled();
  await page.getByRole("radio", { name: /^Scopes/ }).check();
  await page.getByRole("checkbox", { name: /^workflows:read/ }).check();
  await page.getByText("Limit it further").click();
  await hand.fill("Only from these network addresses", "everywhere");
  await inspect("api-keys-new");
  await hand.press("Make the key");
  await expect(page.getByLabel("Only from these network addresses")).toBeFocused();
  expect(watch.take()).toEqual([expect.stringMatching(/^400 for .*\/me\/api-keys$/)]);
  await inspect("api-keys-refused");
  await hand.fill("Only from these network addresses", "127.0.0.0/8");
  // The server wants a fresh sign-in, which the page asks for without losing what was typed.
  await answerWith(page, "**/api/v1/me/api-keys", { status: 403, code: "fresh_sign_in_required" });
  await hand.press("Make the key");
  await expect(page.getByLabel("Your password")).toBeVisible();
  await page.unroute("**/api/v1/me/api-keys");
  expect(watch.take()).toEqual([expect.stringMatching(/^403 for .*\/me\/api-keys$/)]);
  await page.getByLabel("Your password").fill(member.password);
  await hand.press("Make the key");

  await expect(page.getByRole("dialog", { name: "This is your key" })).toBeVisible();
  await inspect("api-keys-made");
  const line = await page.locator("[data-snippet='Environment variable']").textContent();
  const key = /^export CHARGEHAND_API_KEY=(\S{20,})$/.exec(line ?? "")?.[1] ?? "";
  const snippets = await snippetsOf(page);
  for (const snippet of snippets) {
    await snippet.run(key);
  }
  await hand.press("I have stored it");

  const row = page.getByRole("row", { name: /nightly import/ });
  await expect(row).toContainText(key.slice(-4));
  expect(await page.content()).not.toContain(key);
  await inspect("api-keys");
  await expect(row).toContainText("workflows:read");
  await expect(row).toContainText("Only for 127.0.0.0/8");

  // Rotated without a grace, the key before is refused at once.
  const [curl] = snippets;
  await hand.press("Rotate nightly import");
  await page.getByLabel("The old one counts").selectOption("0s");
  await hand.press("Rotate");
  const next = await page.locator("[data-snippet='Environment variable']").textContent();
  await hand.press("I have stored it");
  const rotated = next?.slice("export CHARGEHAND_API_KEY=".length) ?? "";
  await expect(curl?.run(key)).rejects.toThrow();
  await curl?.run(rotated);

  await hand.press("Revoke nightly import");
  await hand.press("Revoke");
  await expect(page.getByText("You have no API key yet.")).toBeVisible();
  for (const snippet of snippets) {
    await expect(snippet.run(rotated)).rejects.toThrow();
  }
});

test("an admin makes a key of the account for one namespace in the other environment, which ends soon", async ({
  page,
  enter,
  hand,
  inspect,
}) => {
  await enter("admin"); // which is fresh for ten minutes
  await page.goto("/account/api-keys");
  await hand.press("New key");
  await hand.fill("Name", "line 7");
  await page.getByLabel("Whose key it is").selectOption("account");
  await page.getByRole("dialog").getByLabel("Environment").selectOption("test");
  await page.getByRole("radio", { name: /^run/ }).check();
  await page.getByLabel("It ends").selectOption("7");
  await page.getByText("Limit it further").click();
  await hand.fill("Only these namespaces", "shop");
  await hand.fill("Requests per second", "many");
  await hand.press("Make the key");
  await expect(page.getByText("This is no whole number from 0.")).toBeVisible();
  await hand.fill("Requests per second", "5");
  await hand.press("Make the key");
  await hand.press("I have stored it");
  await page.goto("/account/api-keys?env=test");
  const keys = page.getByRole("table", { name: "All keys of the account" });
  await expect(keys.getByRole("row", { name: /line 7/ })).toContainText("Only for shop/*");
  await expect(page.getByText(/ends? within 30 days\.$/)).toBeVisible(); // keys of other tests may do so, too
  await inspect("api-keys-account");
  await hand.press("Revoke line 7");
  await hand.press("Revoke");
  await expect(page.getByText("line 7")).toHaveCount(0);
});
