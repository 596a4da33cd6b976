import { expect, sessions, test } from "../harness.ts";
import { someone } from "../people.ts";

test("a person signs in and out @keyboard", async ({ page, context, hand, inspect, member }) => {
  await page.goto("/sign-in");
  await inspect("sign-in");
  await hand.fill("E-mail", member.email);
  await hand.fill("Password", member.password);
  await hand.press("Sign in");

  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await expect(page.getByText(`${member.name} (${member.email})`)).toBeVisible();
  await inspect("signed-in");
  const [cookie] = await sessions(context);
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/" });

  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  expect(await sessions(context)).toEqual([]);

  await page.goBack();
  await page.reload();
  await expect(page.getByText(member.email)).toHaveCount(0);
});

test("a wrong password and an unknown person get the same answer", async ({ page, context, hand, inspect, member }) => {
  const answers: { status: number | undefined; text: string }[] = [];
  for (const email of [member.email, someone().email]) {
    await page.goto("/sign-in");
    await hand.fill("E-mail", email);
    await hand.fill("Password", "a wrong guess of it");
    const answered = page.waitForResponse((r) => r.request().method() === "POST");
    await hand.press("Sign in");
    const answer = await answered;

    const alert = page.getByRole("alert");
    await expect(alert).toBeVisible();
    await expect(page).toHaveTitle(/^Error: /);
    await expect(page.getByLabel("E-mail")).toHaveValue(email);
    await expect(page.getByLabel("Password")).toHaveValue("");
    expect(await page.content()).not.toContain("a wrong guess of it");
    answers.push({ status: answer.status(), text: await alert.innerText() });
  }
  expect(answers[0]?.status).toBe(401);
  expect(answers[1]).toEqual(answers[0]);
  expect(await sessions(context)).toEqual([]);
  await inspect("sign-in-refused");
});
