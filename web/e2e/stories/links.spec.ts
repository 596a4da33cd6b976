import { expect, sessions, test } from "../harness.ts";
import { someone } from "../people.ts";

test("an invited person chooses a password, once", async ({ page, context, hand, inspect, admin }) => {
  const person = someone("Anna Kuliscioff");
  const link = await admin.invite(person);
  await hand.open(link);
  await inspect("invitation");
  await hand.fill("Name", "Anna K.");
  await hand.fill("Password", "short");
  await hand.press("Accept and sign in");

  await expect(page.getByLabel("Password")).toHaveAttribute("aria-invalid", "true");
  await inspect("invitation-refused");
  await hand.fill("Password", person.password);
  await hand.press("Accept and sign in");
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await expect(page.getByText(`Anna K. (${person.email})`)).toBeVisible();

  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  await hand.open(link);
  await hand.fill("Password", "another long password");
  await hand.press("Accept and sign in");
  await expect(page.getByRole("alert")).toBeVisible();
  expect(await sessions(context)).toEqual([]);
});

test("a link lets a person set another password, once", async ({ page, context, hand, inspect, admin, member }) => {
  const link = await admin.reset(member.id);
  await hand.open(link);
  await inspect("password-reset");
  await hand.fill("Password", "another long password");
  await hand.press("Set the password and sign in");
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  await hand.fill("E-mail", member.email);
  await hand.fill("Password", member.password);
  await hand.press("Sign in");
  await expect(page.getByRole("alert")).toBeVisible();
  await hand.fill("Password", "another long password");
  await hand.press("Sign in");
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  await hand.open(link);
  await hand.fill("Password", "a third long password");
  await hand.press("Set the password and sign in");
  await expect(page.getByRole("alert")).toBeVisible();
  expect(await sessions(context)).toEqual([]);
});
