import { expect, test } from "../harness.ts";
import { post, startDevice } from "../people.ts";

test("a person types the code of a program and allows it", async ({ page, hand, inspect, server, member }) => {
  const program = await startDevice(server, "chargehand on ada's laptop");
  await page.goto(program.verification_uri);
  await inspect("device-sign-in");
  await hand.fill("E-mail", member.email);
  await hand.fill("Password", member.password);
  await hand.press("Sign in");

  await expect(page.getByRole("heading", { name: "Connect a program" })).toBeVisible();
  await inspect("device");
  await hand.fill("Code", "BBBB-BBBB");
  await hand.press("Continue");
  await expect(page.getByRole("alert")).toBeVisible();
  await inspect("device-refused-code");
  await hand.fill("Code", program.user_code.toLowerCase());
  await hand.press("Continue");

  await expect(page.getByRole("heading", { name: "Allow this program?" })).toBeVisible();
  await expect(page.getByText("chargehand on ada's laptop")).toBeVisible();
  await inspect("device-confirm");
  await hand.press("Allow");
  await expect(page.getByRole("heading", { name: "The program is connected" })).toBeVisible();
  await inspect("device-allowed");

  const keys = await post(server, "/device/token", { device_code: program.device_code });
  expect(await keys.json()).toMatchObject({ user: { email: member.email } });
});

test("a person refuses a program", async ({ page, hand, inspect, server, member }) => {
  const program = await startDevice(server, "a program of another");
  await page.goto("/device");
  await hand.fill("E-mail", member.email);
  await hand.fill("Password", member.password);
  await hand.press("Sign in");
  await hand.fill("Code", program.user_code);
  await hand.press("Continue");
  await hand.press("Refuse");
  await expect(page.getByRole("heading", { name: "The program was refused" })).toBeVisible();
  await inspect("device-refused");
  await expect(post(server, "/device/token", { device_code: program.device_code })).rejects.toThrow("access_denied");
});
