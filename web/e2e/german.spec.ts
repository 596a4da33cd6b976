import { expect, test } from "./harness.ts";
import { sideways, violations } from "./inspect.ts";
import { full } from "./measure.ts";
import { someone } from "./people.ts";
import { ask, asking } from "./tasks.ts";
import { apply, numbered, refuse, run, runBatch } from "./workflows.ts";

test("the whole UI in German, dark and without motion asks no other server, and axe finds nothing", async ({
  page,
  admin,
  signIn,
  inspect,
}) => {
  test.setTimeout(full ? 1_800_000 : 600_000); // it looks at all screens, one after the other
  const workflow = await apply(admin, [{ refuse: refuse() }]);
  const execution = await run(admin, workflow);
  const batch = await runBatch(admin, workflow, numbered(1));
  const operation = await admin.call<{ id: string }>("POST", "/operations", { action: "retry", ids: [execution] });
  const person = someone("Käthe Paulus");
  const id = await admin.admit(person, [{ role: "admin" }]);
  const asks = { title: "Rechnung freigeben", show: { Betrag: 12.5 }, due: { hours: 1 }, assignees: { users: [id] } };
  const asked = await ask(admin, await asking(admin, asks));
  const secret = `geheim-${crypto.randomUUID().slice(0, 8)}`;
  await admin.call("PUT", `/secrets/${secret}`, { value: "k-71-ocelot" });
  const group = await admin.call<{ id: string }>("POST", "/groups", { name: `Buchhaltung ${secret}` });
  await signIn(person);
  await page.goto("/account");
  await page.getByLabel("Colours").selectOption("dark");
  await page.getByLabel("Language").selectOption("de");
  await expect(page.getByRole("heading", { name: "Einstellungen" })).toBeVisible();
  await expect(page.getByText("Gespeichert", { exact: true })).toBeVisible();
  await page.emulateMedia({ reducedMotion: "reduce" });

  const walk: [name: string, address: string, heading: string | RegExp][] = [
    ["overview", "/", "Übersicht"],
    ["executions", "/executions", "Ausführungen"],
    ["execution", `/executions/${execution}`, /^Ausführung/],
    ["events", `/executions/${execution}?tab=events`, /^Ausführung/],
    ["causes", "/executions?group=cause", "Ausführungen"],
    ["operation", `/operations/${operation.id}`, "Ausführungen wiederholen"],
    ["waits", `/executions/${asked.execution}?task=/do/0/ask`, /^Ausführung/],
    ["inbox", "/inbox", "Eingang"],
    ["task", `/inbox/${asked.id}`, "Eingang"],
    ["workflows", "/workflows", "Workflows"],
    ["definition", `/workflows/${workflow.name}?tab=definition`, workflow.name],
    ["run", `/workflows/${workflow.name}?tab=run`, workflow.name],
    ["api", `/workflows/${workflow.name}?tab=api`, workflow.name],
    ["batches", "/batches", "Stapel"],
    ["batch", `/batches/${batch.id}`, /^Stapel/],
    ["settings", "/account", "Einstellungen"],
    ["security", "/account/security", "Anmeldung und Sitzungen"],
    ["api-keys", "/account/api-keys", "API-Schlüssel"],
    ["secrets", "/admin/secrets", "Geheimnisse"],
    ["limits", "/admin/limits", "Grenzen"],
    ["users", "/admin/users", "Benutzer"],
    ["user", `/admin/users/${id}`, "Käthe Paulus"],
    ["groups", "/admin/groups", "Gruppen"],
    ["grants", "/admin/grants", "Rollen"],
    ["audit", "/admin/audit", "Änderungsprotokoll"],
    ["graph", `/workflows/${workflow.name}?tab=graph`, workflow.name],
    ["editor", `/workflows/${workflow.name}?mode=edit`, workflow.name],
    ["health", "/admin/health", "Zustand"],
    ["io", `/executions/${execution}?tab=io`, /^Ausführung/],
    ["log", `/executions/${execution}?tab=log`, /^Ausführung/],
    ["files", `/executions/${execution}?tab=files`, /^Ausführung/],
    ["about", `/executions/${execution}?tab=about`, /^Ausführung/],
    ["outline", `/executions/${execution}?tab=graph&view=outline`, /^Ausführung/],
    ["versions", `/workflows/${workflow.name}?tab=versions`, workflow.name],
    ["new", "/workflows/new", "Neuer Workflow"],
    ["secret", `/admin/secrets/${secret}`, secret],
    ["group", `/admin/groups/${group.id}`, "Buchhaltung"],
    ["nothing", "/nothing/here", "Diese Seite gibt es nicht"],
  ];
  for (const [name, address, heading] of walk) {
    await test.step(address, async () => {
      await page.goto(address);
      const title = page.getByRole("heading", { level: 1 });
      await (typeof heading === "string" ? expect(title).toContainText(heading) : expect(title).toHaveText(heading));
      await expect(page.getByRole("status", { name: "Wird geladen" })).toHaveCount(0);
      await expect(page.locator("html")).toHaveAttribute("lang", "de");
      await expect(page.locator("html")).toHaveAttribute("data-scheme", "dark");
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await sideways(page), `how much wider the page is than ${width} pixels`).toBe(0);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
      expect(await page.evaluate(() => document.getAnimations().length), "what moves").toBe(0);
      expect(await violations(page)).toEqual([]);
    });
    if (full) {
      await inspect(`german-${name}`);
      await page.emulateMedia({ reducedMotion: "reduce" });
    }
  }
});
