import { expect, test as base } from "../harness.ts";
import { freePort, MailServer } from "../peers.ts";
import { Admin, someone } from "../people.ts";

/** The mail server ends with the test, also with one that fails. */
const test = base.extend<{ mails: MailServer }>({
  mails: async ({}, use) => {
    const mails = await MailServer.start();
    await use(mails);
    mails.stop();
  },
});

test("a person who has forgotten the password gets a mail, and sets another one", async ({
  page,
  hand,
  inspect,
  fresh,
  mails,
}) => {
  const address = `127.0.0.1:${await freePort()}`;
  const flags = ["--listen", address, "--public-url", `http://${address}`];
  flags.push("--smtp-url", mails.url, "--mail-from", "chargehand@example.org");
  const server = await fresh(flags);
  const admin = await Admin.of(server);
  const person = someone();
  await admin.admit(person);

  await page.goto(`${server.url}/sign-in`);
  await page.getByText("Forgotten the password?").click();
  await inspect("sign-in-forgotten");
  await page.locator("#forgotten").fill(person.email);
  await page.getByRole("button", { name: "Send me a link" }).click();
  await expect(page.getByRole("heading", { name: "Look into your mail" })).toBeVisible();
  await inspect("forgotten");

  const link = await mails.linkTo("/password-reset", person.email); // the invitation was mailed too
  await hand.open(link);
  await hand.fill("Password", "another long password");
  await hand.press("Set the password and sign in");
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  await hand.open(link);
  await hand.fill("Password", "a third long password");
  await hand.press("Set the password and sign in");
  await expect(page.getByRole("heading", { name: "This link does not work" })).toBeVisible();
  await expect(page.getByLabel("Password")).toHaveCount(0);
  await inspect("link-gone");
});
