import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { resolve } from "node:path";
import { expect, test } from "../harness.ts";

const exec = promisify(execFile);

/** How the snippets of the page are run: as a person would. */
const programs: Record<string, (text: string) => [string, string[]]> = {
  curl: (text) => ["bash", ["-c", text]],
  Python: (text) => ["python3", ["-c", text]],
  TypeScript: (text) => [process.execPath, ["--input-type=module", "-e", text]],
  CLI: (text) => ["bash", ["-c", text]],
};

test("a person makes a key, uses it as the page says, and revokes it", async ({
  page,
  member,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  await signIn(member);
  await page.goto("/account/api-keys");
  await expect(page.getByText("You have no API key yet.")).toBeVisible();
  await inspect("api-keys-none");

  await hand.press("New key");
  await hand.fill("Name", "nightly import");
  await inspect("api-keys-new");
  // The server wants a fresh sign-in, which the page asks for without losing what was typed.
  await page.route("**/api/v1/me/api-keys", (route) =>
    route.fulfill({
      status: 403,
      contentType: "application/problem+json",
      json: { code: "fresh_sign_in_required", title: "A fresh sign-in is required", status: 403 },
    }),
  );
  await hand.press("Make the key");
  await expect(page.getByLabel("Your password")).toBeVisible();
  await page.unroute("**/api/v1/me/api-keys");
  expect(watch.take()).toEqual([expect.stringMatching(/^403 for .*\/me\/api-keys$/)]);
  await page.getByLabel("Your password").fill(member.password);
  await hand.press("Make the key");

  await expect(page.getByRole("dialog", { name: "This is your key" })).toBeVisible();
  await inspect("api-keys-made");
  const line = await page.locator("[data-snippet='Environment variable']").textContent();
  const key = /^export CHARGEHAND_API_KEY=(\S{20,})$/.exec(line ?? "")?.[1] ?? "";
  const env: NodeJS.ProcessEnv = { ...process.env, CHARGEHAND_API_KEY: key };
  env["PATH"] = `${resolve(import.meta.dirname, "../../../bin")}:${env["PATH"]}`;
  const commands = await Promise.all(
    Object.entries(programs).map(async ([name, how]) =>
      how((await page.locator(`[data-snippet='${name}']`).textContent()) ?? ""),
    ),
  );
  for (const [program, args] of commands) {
    await exec(program, args, { env });
  }
  await hand.press("I have stored it");

  const row = page.getByRole("row", { name: /nightly import/ });
  await expect(row).toContainText(key.slice(-4));
  expect(await page.content()).not.toContain(key);
  await inspect("api-keys");
  await hand.press("Revoke nightly import");
  await hand.press("Revoke");
  await expect(page.getByText("You have no API key yet.")).toBeVisible();
  for (const [program, args] of commands) {
    await expect(exec(program, args, { env })).rejects.toThrow();
  }
});
