import { expect, test } from "./harness.ts";

test("who guesses has to wait, and can sign in afterwards", async ({ page, hand, inspect, member }) => {
  await page.goto("/sign-in");
  const alert = page.getByRole("alert");
  const send = async (password: string) => {
    await hand.fill("E-mail", member.email);
    await hand.fill("Password", password);
    const answered = page.waitForResponse((r) => r.request().method() === "POST");
    await hand.press("Sign in");
    return (await answered).status();
  };
  let status = 401;
  for (let guesses = 0; status === 401 && guesses < 20; guesses++) {
    status = await send("a wrong guess of it");
    await expect(alert).toBeVisible();
  }
  expect(status).toBe(429);
  await inspect("sign-in-wait");
  await expect.poll(() => send(member.password), { timeout: 90_000 }).toBe(303);
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
});
