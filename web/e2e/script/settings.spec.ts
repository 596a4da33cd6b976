import { expect, test } from "../harness.ts";

test("a person sets language, colours, time zone, rows and keys, and finds them in another browser", async ({
  page,
  browser,
  server,
  admin,
  member,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  await signIn(member);
  await page.goto("/");
  await page.getByRole("button", { name: `Account of ${member.name}` }).click();
  await hand.follow("Settings");
  await expect(page).toHaveURL("/account");
  await expect(page.getByText(member.email)).toBeVisible();
  await expect(page.getByText("viewer, all workflows, in live and test")).toBeVisible();
  await inspect("settings");

  // A name that the server refuses is complained about at its field, and stays.
  await hand.fill("Name", " ");
  await hand.press("Save the name");
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveAttribute("aria-invalid", "true");
  expect(watch.take()).toEqual([expect.stringMatching(/^400 for .*\/me$/)]);
  await inspect("settings-refused");
  await hand.fill("Name", "Augusta Ada King");
  await hand.press("Save the name");
  await expect(page.getByRole("button", { name: "Account of Augusta Ada King" })).toBeVisible();

  await page.getByLabel("Colours").selectOption("dark");
  await page.getByLabel("Rows of lists").selectOption("comfortable");
  await page.getByLabel("Time zone").focus();
  await page.getByLabel("Time zone").selectOption("Asia/Tokyo");
  await expect(page.getByText(/It is .* there/)).toContainText("GMT+9");
  await expect(page.getByLabel("Time zone")).toBeFocused();
  await page.getByLabel("Keys without Ctrl").uncheck();
  await expect(page.getByText("Saved", { exact: true })).toBeVisible();
  await page.getByLabel("Language").selectOption("de");
  await expect(page.getByRole("heading", { name: "Einstellungen" })).toBeVisible();
  await inspect("settings-german");
  const cookies = await page.context().cookies();
  await expect
    .poll(async () => {
      const headers = { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; ") };
      const me = await (await fetch(`${server.url}/api/v1/me`, { headers })).json();
      const kept = await (await fetch(`${server.url}/api/v1/me/settings`, { headers })).json();
      return [(me as { user: { locale?: string } }).user.locale, kept];
    })
    .toEqual(["de", { theme: "dark", rows: "comfortable", timeZone: "Asia/Tokyo", keys: "off" }]);

  // Another browser of the person, which knows nothing yet.
  const other = await browser.newContext({ locale: "en-GB" });
  await other.addCookies(cookies);
  const there = await other.newPage();
  await there.goto(`${server.url}/account`);
  await expect(there.getByRole("heading", { name: "Einstellungen" })).toBeVisible();
  await expect(there.locator("html")).toHaveAttribute("data-scheme", "dark");
  await expect(there.locator("html")).toHaveAttribute("data-rows", "comfortable");
  await expect(there.getByLabel("Zeitzone")).toHaveValue("Asia/Tokyo");
  await expect(there.getByLabel("Tastenkürzel ohne Strg")).not.toBeChecked();
  await there.keyboard.press("?");
  await expect(there.getByRole("dialog")).toHaveCount(0);
  await other.close();

  // What cannot be saved counts here, and the page says so.
  await page.getByLabel("Sprache").selectOption("");
  await expect(page.getByRole("heading", { name: "Settings" })).toBeVisible();
  await page.route("**/api/v1/me/settings", (route) => route.abort());
  await page.getByLabel("Colours").selectOption("light");
  await expect(page.getByText("The setting counts in this browser, and was not saved.")).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("data-scheme", "light");
  await page.unroute("**/api/v1/me/settings");
  await hand.press("Try again");
  await expect(page.getByText("was not saved")).toHaveCount(0);
  const failed = watch.take();
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.filter((line) => !line.includes("/me/settings"))).toEqual([]); // it may have been read again, too
  expect(await admin.call<{ data: object[] }>("GET", `/users/${member.id}`)).toMatchObject({
    name: "Augusta Ada King",
  });
});
