// What all lists have in common: how they begin, continue, fail, are kept, and end.
import { expect, test } from "./harness.ts";
import { heapOf, measured } from "./measure.ts";
import { someone } from "./people.ts";
import { passTimeUntil, scrollUntil } from "./time.ts";
import { apply, greets, run } from "./workflows.ts";

const rows = 100_000;

const user = (n: number) => ({
  id: `019c13f3-1d3f-7a11-8c2d-${n.toString(16).padStart(12, "0")}`,
  name: `Crowd ${n}`,
  email: `crowd-${n}@example.com`,
  status: "active",
  groups: [],
  methods: ["password"],
  created_at: "2026-01-31T10:30:00Z",
});

test("a list continues as it is scrolled, says what failed, and has 60 of 100,000 rows in the page", async ({
  page,
  admin,
  signIn,
  faults,
  watch,
}) => {
  // The proxy makes what no test could: a first page of 100 users, and one with all others.
  const many = () =>
    faults.spoil(/^GET \/api\/v1\/users\?/, {
      answer({ searchParams }) {
        const from = Number(searchParams.get("cursor"));
        const to = from === 0 ? 100 : rows;
        const data = Array.from({ length: to - from }, (_, i) => user(from + i));
        return { data, cursor: to === rows ? null : String(to) };
      },
    });
  const boss = someone("Joan Clarke");
  await admin.admit(boss, [{ role: "admin" }]);
  await signIn(boss, faults);
  many();
  faults.spoil(/^GET \/api\/v1\/users\?.*cursor=/, { status: 500 });
  await page.goto(`${faults.url}/admin/users`);
  const table = page.getByRole("table", { name: "Users" });
  const shown = table.locator("tbody tr:not(.space)");
  await expect(table).toHaveAttribute("aria-rowcount", "101");
  expect(await shown.count()).toBeLessThanOrEqual(60);

  // The next page fails: the rows stay, and it can be asked for again.
  const alert = page.getByRole("alert");
  await scrollUntil(page, (soon) => expect(alert).toContainText("Spoiled with 500", soon));
  await expect(table.getByText("crowd-99@example.com")).toBeVisible();
  await expect(table).toHaveAttribute("aria-rowcount", "101");
  faults.heal();
  many();
  await page.getByRole("button", { name: "Try again" }).press("Enter");
  await expect(table).toHaveAttribute("aria-rowcount", String(rows + 1));
  await expect(alert).toHaveCount(0);
  expect(await shown.count()).toBeLessThanOrEqual(60);

  await scrollUntil(page, (soon) => expect(page.getByText("These are all.")).toBeInViewport(soon));
  const last = page.getByRole("link", { name: `Crowd ${rows - 1}`, exact: true });
  await expect(last).toBeInViewport();
  await expect(table.locator("tr", { has: last })).toHaveAttribute("aria-rowindex", String(rows + 1));
  expect(await shown.count()).toBeLessThanOrEqual(60);

  // Keys move among the rows, and the row that has the focus stays, however far it is scrolled away.
  await last.focus();
  await page.keyboard.press("k");
  const before = page.getByRole("link", { name: `Crowd ${rows - 2}`, exact: true });
  await expect(before).toBeFocused();
  await page.evaluate(() => scrollTo({ top: 0 }));
  await expect(page.getByRole("link", { name: "Crowd 0", exact: true })).toBeInViewport();
  await expect(before).toBeFocused();
  expect(await shown.count()).toBeLessThanOrEqual(60);
  const heap = await heapOf(page);
  measured(`a list of 100,000 rows: heap ${(heap / 1e6).toFixed(0)} MB`);
  expect(heap, "bytes of the heap").toBeLessThan(150e6);
  expect(watch.take().filter((line) => !line.startsWith("500 for "))).toEqual([]);
});

test("a list that cannot be asked for again says from when it is, until it can", async ({
  page,
  admin,
  member,
  signIn,
  faults,
  watch,
}) => {
  const workflow = await apply(admin, greets);
  await run(admin, workflow, { name: "Ada" });
  await signIn(member, faults);
  await page.clock.install();
  await page.goto(`${faults.url}/executions?filter=workflow:${workflow.name}`);
  const row = page.getByRole("table", { name: "Executions" }).getByRole("link", { name: workflow.name });
  await expect(row).toBeVisible();
  const stale = page.getByText(/^The list is as it was at .* Spoiled with 503$/);
  faults.spoil(/^GET \/api\/v1\/executions\?/, { status: 503 });
  await passTimeUntil(page, (soon) => expect(stale).toBeVisible(soon));
  await expect(row).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
  faults.heal();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(stale).toHaveCount(0);

  // It also ends by itself.
  faults.spoil(/^GET \/api\/v1\/executions\?/, { status: 503 });
  await passTimeUntil(page, (soon) => expect(stale).toBeVisible(soon));
  faults.heal();
  await passTimeUntil(page, (soon) => expect(stale).toHaveCount(0, soon));
  await expect(row).toBeVisible();
  expect(watch.take().filter((line) => !line.startsWith("503 for "))).toEqual([]);
});
