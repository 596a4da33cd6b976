import { expect, test as base } from "../harness.ts";
import { freePort, IdentityProvider } from "../peers.ts";
import { Admin, someone, startDevice } from "../people.ts";
import type { Server } from "../server.ts";
import type { Page } from "@playwright/test";

interface Fixtures {
  /** It ends with the test, also with one that fails. */
  provider: IdentityProvider;
  /** A server at an address of its own, where people sign in by the provider as well. */
  company: Server;
}

const test = base.extend<Fixtures>({
  provider: async ({ others }, use) => {
    const provider = await IdentityProvider.start();
    others.push(provider.url);
    await use(provider);
    provider.stop();
  },

  company: async ({ provider, fresh }, use) => {
    const address = `127.0.0.1:${await freePort()}`;
    const flags = ["--listen", address, "--public-url", `http://${address}`];
    flags.push("--oidc", `company=${provider.url}/company`, "--oidc-client", "company=chargehand");
    flags.push("--oidc-title", "company=Example Ltd.", "--oidc-provision", "company=example.org");
    await use(await fresh(flags, { CHARGEHAND_OIDC_SECRET: "company=s3cret&+%:/ü" }));
  },
});

/** Signs in on the page of the provider, as who the claims say. */
async function signInThere(page: Page, claims: object): Promise<void> {
  await expect(page).toHaveTitle("Identity provider");
  await page.getByLabel("Claims").fill(JSON.stringify(claims));
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("a person signs in by the identity provider, and has no role yet", async ({
  page,
  hand,
  inspect,
  company: server,
}) => {
  await Admin.of(server);
  await page.goto(`${server.url}/sign-in`);
  await inspect("sign-in-provider");
  await hand.follow("Sign in with Example Ltd.");
  await signInThere(page, { sub: "42", email: "cy@example.org", email_verified: true, name: "Cy Twombly" });
  await expect(page.getByRole("heading", { name: "You are signed in" })).toBeVisible();
  await expect(page.getByText("Cy Twombly (cy@example.org)")).toBeVisible();
  await inspect("signed-in-provider");

  await page.goto(`${server.url}/device`);
  await expect(page.getByRole("heading", { name: "You have no role yet" })).toBeVisible();
  await inspect("device-no-role");
});

test("the provider refuses, or knows a person who is not invited", async ({ page, hand, inspect, company: server }) => {
  await Admin.of(server);
  for (const [claims, says] of [
    [{ deny: true }, "did not sign you in"],
    [{ sub: "7", email: "eve@example.com", email_verified: true }, "you are not invited here"],
  ] as const) {
    await page.goto(`${server.url}/sign-in`);
    await hand.follow("Sign in with Example Ltd.");
    await signInThere(page, claims);
    await expect(page.getByRole("alert")).toContainText(says);
  }
  await inspect("provider-not-invited");
});

test("a person with a password changes over to the provider, and connects a program by it", async ({
  page,
  hand,
  inspect,
  company: server,
}) => {
  const admin = await Admin.of(server);
  const person = someone();
  await admin.admit(person);
  await page.goto(`${server.url}/sign-in`);
  await hand.fill("E-mail", person.email);
  await hand.fill("Password", person.password);
  await hand.press("Sign in");
  await hand.press("Sign in by it from now on: Example Ltd.");
  await inspect("linking");
  await hand.follow("Continue to the identity provider");
  await signInThere(page, { sub: "4711", email: "another@example.net" });
  await expect(page.getByText("You sign in with")).toBeVisible();
  await inspect("signed-in-linked");
  await hand.press("Sign out");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();

  const program = await startDevice(server, "chargehand on a laptop");
  await page.goto(program.verification_uri);
  await inspect("device-sign-in-provider");
  await hand.follow("Sign in with Example Ltd.");
  await signInThere(page, { sub: "4711" });
  await hand.fill("Code", program.user_code);
  await hand.press("Continue");
  await expect(page.getByText(person.email)).toBeVisible();
  await hand.press("Allow");
  await expect(page.getByRole("heading", { name: "The program is connected" })).toBeVisible();
});
