import { expect, test } from "../harness.ts";

test.use({ locale: "de-AT" });

test("a person signs in in German", async ({ page, hand, inspect, member }) => {
  await page.goto("/sign-in");
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
  await inspect("german-sign-in");
  await hand.fill("E-Mail", member.email);
  await hand.fill("Passwort", "ein falsches Passwort");
  await hand.press("Anmelden");
  await expect(page.getByRole("alert")).toHaveText("Die E-Mail-Adresse oder das Passwort stimmt nicht.");
  await hand.fill("Passwort", member.password);
  await hand.press("Anmelden");
  await expect(page.getByRole("heading", { name: "Du bist angemeldet" })).toBeVisible();
  await inspect("german-signed-in");
});
