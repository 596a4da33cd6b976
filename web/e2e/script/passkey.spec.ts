import { expect, test } from "../harness.ts";
import { Authenticator, named } from "../authenticator.ts";
import { someone } from "../people.ts";

test("the first admin makes a passkey in place of a password", async ({ page, hand, inspect, fresh, others }) => {
  const server = await fresh();
  others.push(named(server.url));
  const admin = someone("Grace Hopper");
  await Authenticator.of(page);

  await hand.open(named(await server.setupLink()));
  await inspect("setup-passkey");
  await hand.fill("Name", admin.name);
  await hand.fill("E-mail", admin.email);
  await hand.press("Make the admin with a passkey");
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();

  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await hand.press("Sign in with a passkey");
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await expect(page.getByText(admin.email)).toBeVisible();
});

test("an invited person makes a passkey in place of a password", async ({ page, hand, server, admin, others }) => {
  others.push(named(server.url));
  const person = someone("Anna Kuliscioff");
  await Authenticator.of(page);
  await hand.open(named(await admin.invite(person)));
  await hand.fill("Name", person.name);
  await hand.press("Accept with a passkey");
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await hand.press("Sign in with a passkey");
  await expect(page.getByText(person.email)).toBeVisible();
});

test("a person adds a passkey, and only who it knows signs in with it", async ({
  page,
  hand,
  inspect,
  server,
  member,
  others,
  watch,
}) => {
  others.push(named(server.url));
  const authenticator = await Authenticator.of(page);
  await page.goto(`${named(server.url)}/sign-in`);
  await hand.fill("E-mail", member.email);
  await hand.fill("Password", member.password);
  await hand.press("Sign in");
  await hand.press("Add a passkey");
  await expect(page.getByText("The passkey was added.")).toBeVisible();
  await inspect("passkey-added");

  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await authenticator.reject();
  await hand.press("Sign in with a passkey");
  await expect(page.getByRole("alert")).toBeVisible();
  await inspect("sign-in-passkey-refused");
  expect(watch.take()).toEqual([]);
});
