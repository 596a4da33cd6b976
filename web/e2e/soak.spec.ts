// Pages that stay open while much changes. It takes minutes, so that only test/full runs it; CHARGEHAND_SOAK says how many.
import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "@playwright/test";
import { expect, test } from "./harness.ts";
import { heapOf, measured, Work } from "./measure.ts";
import { Admin, someone } from "./people.ts";
import { apply, numbered, run, runBatch } from "./workflows.ts";

const seconds = 60 * Number(process.env["CHARGEHAND_SOAK"] ?? 10);

/** Items of the batch that end in a second, and passes of the loop. */
const pace = 8;

/** So many of them do not end before the pages have been looked at for the last time. */
const enough = Math.ceil(seconds * 1.2) * pace;

const mega = (bytes: number) => (bytes / 1e6).toFixed(1);

interface Held {
  heap: number;
  nodes: number;
  listeners: number;
}

async function held(page: Page, work: Work): Promise<Held> {
  const heap = await heapOf(page); // collects the garbage
  return { heap, ...(await work.held()) };
}

test("pages that are open under a stream of changes hold no more in the end than in the beginning", async ({
  context,
  fresh,
  signIn,
}) => {
  test.setTimeout((seconds * 2 + 300) * 1000);
  const server = await fresh();
  const admin = await Admin.of(server);
  const person = someone("Ada Lovelace");
  await admin.admit(person, [{ role: "operator" }]);
  // An item that waits does not hold up another one: they wait for times of their own, so that some end in each second.
  const short = await apply(admin, [
    { rest: { wait: `\${ "PT" + (.number / ${pace} | floor + 1 | tostring) + "S" }` } },
  ]);
  const long = await apply(admin, [
    {
      each: {
        for: { each: "n", in: `\${ [range(${enough})] }` },
        do: [{ rest: { wait: { milliseconds: 1000 / pace } } }],
      },
    },
  ]);
  const items = numbered(Math.min(10_000, enough));
  const batch = await runBatch(admin, short, items, { wait: "0s", concurrency: pace });
  const loop = await run(admin, long, {}, "0s");
  await signIn(person, server);

  const addresses = {
    batch: `/batches/${batch.id}`,
    list: `/executions?filter=workflow:${short.name}`,
    timeline: `/executions/${loop}`,
    events: `/executions/${loop}?tab=events`,
  };
  const pages: [name: string, page: Page, work: Work][] = [];
  for (const [name, address] of Object.entries(addresses)) {
    const page = await context.newPage();
    await page.goto(server.url + address);
    pages.push([name, page, await Work.of(page)]);
  }
  const [[, progress], [, list]] = pages as [(typeof pages)[0], (typeof pages)[0]];
  const facts = () =>
    pages[3]?.[1]
      .getByRole("list", { name: "What has happened" })
      .getByRole("listitem")
      .last()
      .getAttribute("aria-setsize");
  const done = async () =>
    Number(/([\d,]+) of [\d,]+ items/.exec(await progress.locator("main").innerText())?.[1]?.replace(",", ""));
  await expect.poll(done).toBeGreaterThan(0);
  await expect.poll(async () => Number(await facts())).toBeGreaterThan(0);

  // All items of the batch have begun by now. The list gets another execution every second.
  const changing = async (time: number) => {
    for (const end = Date.now() + time * 1000; Date.now() < end;) {
      await run(admin, short, { number: 0 }, "0s");
      await pause(1000);
    }
  };

  await changing(seconds / 5); // until everything is loaded and compiled
  const [early, factsEarly] = [await done(), Number(await facts())];
  const before = await Promise.all(pages.map(([, page, work]) => held(page, work)));
  await changing(seconds - seconds / 5);
  const after = await Promise.all(pages.map(([, page, work]) => held(page, work)));

  // It was a stream of changes, and it has reached the pages.
  expect(await done()).toBeGreaterThan(early);
  expect(Number(await facts())).toBeGreaterThan(factsEarly);
  await expect(list.getByRole("button", { name: / new$/ })).toBeVisible();
  for (const [i, [name]] of pages.entries()) {
    const [from, to] = [before[i], after[i]];
    if (from === undefined || to === undefined) {
      throw new Error(`nothing was measured of ${name}`);
    }
    measured(
      `${name}, open for ${seconds} s: heap ${mega(from.heap)} to ${mega(to.heap)} MB, ` +
        `${from.nodes} to ${to.nodes} nodes, ${from.listeners} to ${to.listeners} listeners`,
    );
    expect(to.heap, `bytes of the heap of ${name}`).toBeLessThan(Math.min(150e6, from.heap * 1.5 + 10e6));
    expect(to.nodes, `nodes of ${name}`).toBeLessThan(from.nodes * 1.5 + 1000);
    expect(to.listeners, `listeners of ${name}`).toBeLessThan(from.listeners * 1.2 + 100);
  }
});
