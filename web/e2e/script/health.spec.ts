import { chmod } from "node:fs/promises";
import { expect, test } from "../harness.ts";
import { Admin } from "../people.ts";
import { apply, run, waits } from "../workflows.ts";

test("an admin sees what waits, what is left of the disk, and what is wrong as soon as it is", async ({
  page,
  context,
  fresh,
  hand,
  inspect,
}) => {
  const server = await fresh();
  const admin = await Admin.of(server);
  await run(admin, await apply(admin, waits), {}, "0s");
  await admin.enter(context);
  await page.goto(server.url);
  await hand.follow("Health");
  await expect(page).toHaveURL(`${server.url}/admin/health`);
  await expect(page.getByRole("region", { name: "Server", exact: true })).toContainText("are taken");
  await expect(page.getByRole("region", { name: "Server", exact: true })).toContainText("SQLite");
  const work = page.getByRole("region", { name: "Executions that have not ended" });
  await expect(work).toContainText(/wait for a time, an event, another execution or a person\s*1/);
  await expect(page.getByRole("table", { name: "Disks" })).toContainText(server.folder);
  await expect(page.getByRole("table", { name: "Servers and workers" }).locator("tbody tr")).toHaveCount(1);
  const folder = page.getByRole("table", { name: "What was looked at" }).getByRole("row", { name: /^data directory/ });
  await expect(folder).toContainText("as it should be");
  await inspect("health");

  // The page asks again by itself.
  await chmod(server.folder, 0o777);
  await expect(folder).toContainText("wrong");
  await expect(page.getByRole("region", { name: "What is wrong" })).toContainText("data directory");
  await inspect("health-wrong");
  await chmod(server.folder, 0o700);
  await expect(folder).toContainText("as it should be");
});

test("who may not see the state of the installation reads why, in test as in live", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  await signIn(member);
  await page.goto("/admin/health");
  await expect(page.getByRole("alert")).toContainText("You may not see this");
  await expect(page.getByRole("link", { name: "Health" })).toHaveCount(0);
  await inspect("health-forbidden");
  expect(watch.take()).toEqual([expect.stringMatching(/^403 for .*\/system$/)]);
  await page.context().clearCookies();
  await admin.enter(page.context());
  await page.goto("/admin/health?env=test");
  await expect(page.getByRole("region", { name: "Server", exact: true })).toContainText("are taken");
});
