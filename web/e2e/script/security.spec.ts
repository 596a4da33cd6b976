import { Authenticator, named } from "../authenticator.ts";
import { expect, test } from "../harness.ts";
import { post } from "../people.ts";

test("a person sees where they are signed in, and signs out elsewhere", async ({
  page,
  server,
  member,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  const elsewhere = async () => {
    const answer = await post(server, "/session", { email: member.email, password: member.password });
    return answer.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  };
  const status = async (cookie: string) =>
    (await fetch(`${server.url}/api/v1/me`, { headers: { Cookie: cookie } })).status;
  const [first, second] = [await elsewhere(), await elsewhere()];
  await signIn(member);
  await page.goto("/executions");
  await page.getByRole("button", { name: /^Account of/ }).click();
  await page.getByRole("link", { name: "Sign-in and sessions" }).click();
  await expect(page).toHaveURL("/account/security");
  const rows = page.getByRole("table", { name: "Where you are signed in" }).locator("tbody tr");
  await expect(rows).toHaveCount(4); // one more from the invitation
  await expect(rows.filter({ hasText: "this one" })).toHaveCount(1);
  await expect(page.getByText("This browser makes no passkeys for this address")).toBeVisible();
  await inspect("security");

  // A wrong password is complained about at its field, and the session stays.
  await hand.press("Change the password");
  await hand.fill("Password until now", "not the right one");
  await hand.fill("New password", "another long password");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Change the password" }).press("Enter");
  await expect(page.getByLabel("Password until now", { exact: true })).toHaveAttribute("aria-invalid", "true");
  await expect(dialog).toHaveCount(1); // none says that the session has ended
  expect(watch.take()).toEqual([expect.stringMatching(/^401 for .*\/me\/password$/)]);
  await inspect("security-password-refused");
  await hand.press("Cancel");

  await rows.getByRole("button").first().click();
  await inspect("security-sign-out");
  await hand.press("Sign out");
  await expect(rows).toHaveCount(3);
  await hand.press("Sign out everywhere else");
  await hand.press("Sign out");
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText("this one");
  expect([await status(first), await status(second)]).toEqual([401, 401]);
});

test("a person makes a passkey, gives up once, renames it, and removes it", async ({
  page,
  server,
  member,
  others,
  hand,
  watch,
  inspect,
}) => {
  others.push(named(server.url));
  const authenticator = await Authenticator.of(page);
  await page.goto(`${named(server.url)}/sign-in?return=/account/security`);
  await page.getByLabel("E-mail").fill(member.email);
  await page.getByLabel("Password", { exact: true }).fill(member.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByText("You have no passkey yet.")).toBeVisible();
  await hand.press("Add a passkey");
  await hand.fill("Name", "work laptop");
  await hand.press("Make the passkey");
  const row = page.getByRole("row", { name: /work laptop/ });
  await expect(row).toContainText("never");
  await inspect("security-passkey");

  await authenticator.reject();
  await hand.press("Add a passkey");
  await hand.fill("Name", "another");
  await hand.press("Make the passkey");
  await expect(page.getByRole("alert")).toContainText("The browser made no passkey.");
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("another");
  await inspect("security-refused");
  await hand.press("Cancel");

  await hand.press("Rename work laptop");
  await hand.fill("Name", "");
  await hand.press("Rename");
  await expect(page.getByLabel("Name", { exact: true })).toHaveAttribute("aria-invalid", "true");
  expect(watch.take()).toEqual([expect.stringMatching(/^400 for .*\/me\/passkeys\//)]);
  await inspect("security-rename-refused");
  await hand.fill("Name", "home laptop");
  await hand.press("Rename");
  await expect(page.getByRole("row", { name: /home laptop/ })).toBeVisible();

  await hand.press("Remove home laptop");
  await hand.press("Remove");
  await expect(page.getByText("You have no passkey yet.")).toBeVisible();
});
