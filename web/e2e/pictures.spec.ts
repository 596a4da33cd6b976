// The pictures of docs/pictures, taken of the real program with its examples. `scripts/pictures` takes them;
// test/full looks whether the pages still say what they said then, which docs/pictures/pages.json keeps.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import type { Locator, Page } from "@playwright/test";
import { architecture, folders } from "./architecture.ts";
import { expect, test } from "./harness.ts";
import { Admin, someone } from "./people.ts";
import { binary } from "./server.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = join(root, "docs/pictures");
const taking = process.env["CHARGEHAND_PICTURES"] === "take";

interface Picture {
  address: string;
  seen: Locator;
}

test("the pictures show what the pages are", async ({ page, fresh, signIn }) => {
  const outside = spawn(binary, ["examples", "serve", "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  try {
    const [line] = (await once(createInterface(outside.stderr), "line")) as [string];
    const service = /http:\/\/([^/]+)\//.exec(line)?.[1] ?? "";
    const server = await fresh([
      `--workflows=${join(root, "examples")}`,
      "--allow-run=shell,python",
      "--allow-egress=127.0.0.1",
      `--connect-to=127.0.0.1:8099:${service}`,
    ]);
    const admin = await Admin.of(server);
    const made = await examples(admin);
    const person = someone("Ada Lovelace");
    await admin.admit(person, [{ role: "admin" }]);
    await signIn(person, server);
    const pictures: Record<string, Picture> = {
      overview: { address: "/", seen: page.getByText(/^As of/) },
      execution: { address: `/executions/${made.failed}`, seen: page.getByRole("tree").getByText("look up") },
      graph: { address: `/executions/${made.failed}?tab=graph&view=picture`, seen: page.getByText("give up").first() },
      batch: { address: `/batches/${made.batch}`, seen: page.getByText("24 of 24 items") },
      task: { address: `/inbox/${made.task}?view=all`, seen: page.getByLabel("Total in EUR") },
      run: { address: "/workflows/examples/enrich-order?tab=run", seen: page.getByLabel("Order") },
    };
    const now: Record<string, string[]> = {};
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await mkdir(folder, { recursive: true });
    for (const [name, { address, seen }] of Object.entries(pictures)) {
      await page.goto(server.url + address);
      await expect(seen).toBeVisible();
      await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
      now[name] = await said(page);
      if (taking) {
        await page.screenshot({ path: join(folder, `${name}.png`) });
      }
      expect(existsSync(join(folder, `${name}.png`)), `there is docs/pictures/${name}.png`).toBe(true);
    }
    const file = join(folder, "pages.json");
    if (taking) {
      await writeFile(file, `${JSON.stringify(now, undefined, 2)}\n`);
    }
    const then = JSON.parse(await readFile(file, "utf8")) as typeof now;
    expect(now, "what the pages say; run scripts/pictures if they changed").toEqual(then);
  } finally {
    outside.kill();
  }
});

test("the picture of the architecture names what there is", async () => {
  for (const name of folders) {
    expect(existsSync(join(root, name)), `${name}, which the picture names`).toBe(true);
  }
  const file = join(folder, "architecture.svg");
  if (taking) {
    await mkdir(folder, { recursive: true });
    await writeFile(file, architecture());
  }
  expect(readFileSync(file, "utf8"), "run scripts/pictures").toBe(architecture());
});

/** The lines that a page has, each once, without what is another each time: numbers, times, ids. */
async function said(page: Page): Promise<string[]> {
  const text = await page.locator("body").ariaSnapshot();
  const lines = text
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8}\b/g, "ID")
    .replace(/: "ID"$/gm, ": ID") // one that could be read as a number was in quotes
    .replace(/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? /g, "")
    .replace(/\d[\d,.:TZ-]*/g, "0")
    .replace(/\b0 (ms|s|min|h)\b( 0 (s|min)\b)?/g, "0 s")
    .replace(/just now|0 (sec|min|hr)s?\.? ago/g, "lately")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => !line.startsWith("- /url:"));
  return [...new Set(lines)];
}

/** Runs the examples, as `make run` does: some end well, one fails, one waits. */
async function examples(admin: Admin): Promise<{ batch: string; failed: string; task: string }> {
  await expect.poll(() => admin.call("GET", "/workflows/examples.await-payment").then(Boolean, () => false)).toBe(true);
  await expect.poll(() => admin.call("GET", "/workflows/examples.hello").then(Boolean, () => false)).toBe(true);
  const [head = "", ...lines] = (await readFile(join(root, "examples/data/orders.csv"), "utf8")).trim().split("\n");
  const names = head.trim().split(",");
  const items = lines.map((line) =>
    Object.fromEntries(
      line
        .trim()
        .split(",")
        .map((value, i) => [names[i], value]),
    ),
  );
  const start = async (name: string, input: object, wait = "?wait=60s") =>
    (await admin.call<{ execution_id: string }>("POST", `/workflows/examples.${name}/executions${wait}`, { input }))
      .execution_id;
  await start("hello", { name: "Ada" });
  const path = "/workflows/examples.enrich-order/batch?wait=60s&executions=none";
  const batch = await admin.call<{ id: string }>("POST", path, { items, concurrency: 8 });
  await start("await-payment", { order: "o-2100", amount: 49.9 }, "");
  const failed = await start("enrich-order", { order: "o-2099", customer: "c-99", amount: "19.90" });
  const asks = await start("read-invoice", { text: "Invoice R-2042, to be paid in 14 days.\nTotal: EUR 80.00" });
  const tasks = await admin.call<{ data: { id: string }[] }>("GET", `/human-tasks?execution_id=${asks}`);
  return { batch: batch.id, failed, task: tasks.data[0]?.id ?? "" };
}
