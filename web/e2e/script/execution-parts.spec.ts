import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test as base } from "../harness.ts";
import { answerWith } from "../hold.ts";
import { heapOf, measured, Work } from "../measure.ts";
import { Admin } from "../people.ts";
import { runCommand } from "../snippets.ts";
import { apply, greets, refuse, run } from "../workflows.ts";

/** Answers every request, and counts them. */
const test = base.extend<{ receiver: { url: string; calls: () => number } }>({
  receiver: async ({}, use) => {
    let calls = 0;
    const server = createServer((_, answer) => {
      calls++;
      answer.setHeader("Content-Type", "application/json").end('{"price": 12}');
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    await use({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, calls: () => calls });
    server.close();
    server.closeAllConnections();
  },
});

test("a failed task shows its log, and a retry from it calls nothing before it again", async ({
  page,
  fresh,
  receiver,
  hand,
  inspect,
}) => {
  const server = await fresh(["--allow-egress=127.0.0.1", "--allow-run=shell"]);
  const admin = await Admin.of(server);
  const workflow = await apply(admin, [
    { ask: { call: "http", with: { method: "get", endpoint: receiver.url } } },
    { stock: { run: { shell: { command: 'printf paper >"$OUT_DIR/stock.txt"' } } } },
    {
      prices: { run: { shell: { command: String.raw`printf 'item,price\n"lamp, red",12\n' >"$OUT_DIR/prices.csv"` } } },
    },
    { print: { run: { shell: { command: "echo the printer has no paper; exit 3" } } } },
  ]);
  const failed = await run(admin, workflow);
  expect(receiver.calls()).toBe(1);
  await admin.enter(page.context());
  await page.goto(`${server.url}/executions/${failed}`);
  const inspector = page.getByRole("region", { name: "Run of the task" });
  await expect(inspector.getByRole("heading", { name: "print" })).toBeVisible();
  await expect(inspector.getByRole("log")).toContainText("the printer has no paper");

  // From each of its parts, its error leads to the task.
  await hand.follow("About");
  await expect(inspector).toHaveCount(0);
  await hand.follow("/do/3/print");
  await expect(inspector.getByRole("heading", { name: "print" })).toBeVisible();

  // What its tasks have made is there, though it has no results.
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await hand.follow("Files");
  const files = page.getByRole("table", { name: "Other files of tasks" });
  await expect(files.getByRole("row", { name: /stock\.txt/ })).toContainText("text/plain");
  await hand.press("Copy SHA-256 of stock.txt");
  const digest = createHash("sha256").update("paper").digest("hex");
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(digest);
  await hand.press("Show stock.txt");
  await expect(page.getByRole("figure", { name: "stock.txt" })).toContainText("paper");
  await inspect("execution-task-files");
  await hand.press("Show prices.csv");
  const values = page.getByRole("region", { name: "Content of prices.csv" });
  await expect(values.getByRole("columnheader")).toHaveText(["item", "price"]);
  await expect(values.getByRole("cell")).toHaveText(["lamp, red", "12"]);
  await inspect("execution-file-table");
  await hand.follow("stock");
  await expect(inspector.getByRole("link", { name: "stock.txt" })).toBeVisible();
  await expect(inspector).toContainText(digest.slice(0, 8));
  await hand.follow("Timeline");
  await hand.press("Retry from print");
  await expect(page.getByRole("dialog")).toContainText("Tasks before it are not run again.");
  await inspect("execution-retry-from");
  await hand.press("Start the retry");
  await expect(page).not.toHaveURL(new RegExp(failed));
  await expect(page.locator(".execution-head")).toContainText("error");
  await expect(page.getByRole("treeitem", { name: /print/ })).toBeVisible();
  await expect(page.getByRole("treeitem")).toHaveCount(1);
  expect(receiver.calls()).toBe(1);
});

test("all that is kept of an execution is downloaded as one zip file", async ({
  page,
  fresh,
  hand,
  inspect,
  watch,
}) => {
  const server = await fresh(["--allow-run=shell"]);
  const admin = await Admin.of(server);
  const workflow = await apply(admin, [
    { stock: { run: { shell: { command: 'printf paper >"$OUT_DIR/st:ock.txt"; echo counted' } } } },
    { last: { set: { done: true } } },
  ]);
  const id = await run(admin, workflow);
  await admin.enter(page.context());
  await page.goto(`${server.url}/executions/${id}`);
  await hand.press("More");
  await inspect("execution-more");
  const [file] = await Promise.all([page.waitForEvent("download"), hand.press("Download everything")]);
  await expect(page.getByRole("button", { name: "More" })).toBeFocused();
  expect(file.suggestedFilename()).toBe(`execution-${id}.zip`);
  const entries = unzip(await file.path());
  expect(Object.keys(entries).toSorted()).toEqual([
    "definition.json",
    "execution.json",
    "files.json",
    "files/0001-st_ock.txt",
    "log.jsonl",
    "timeline.jsonl",
  ]);
  const { files, missing } = JSON.parse(entries["files.json"] ?? "") as {
    files: { path: string; name: string; sha256: string; result: boolean }[];
    missing: unknown[];
  };
  const [stock] = files;
  expect(stock).toMatchObject({ path: "files/0001-st_ock.txt", name: "st:ock.txt", result: true });
  const content = entries["files/0001-st_ock.txt"] ?? "";
  expect(content).toBe("paper");
  expect(stock?.sha256).toBe(createHash("sha256").update(content).digest("hex"));
  expect(missing).toEqual([]);
  expect(JSON.parse(entries["execution.json"] ?? "")).toMatchObject({ id, status: "finished" });
  expect(entries["timeline.jsonl"]?.trim().split("\n")).toHaveLength(2);
  expect(entries["log.jsonl"]).toContain("counted");
  // What the server refuses is said, and not saved.
  await answerWith(page, "**/archive", { status: 422, code: "archive_too_large", title: "Too much for one archive" });
  await hand.press("More");
  await hand.press("Download everything");
  await expect(page.getByText("Too much for one archive")).toBeVisible();
  expect(watch.take()).toEqual([expect.stringMatching(/^422 for .*\/archive$/)]);
});

test("the definition that an execution runs is shown though it has changed, and a copied command starts it again", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
}) => {
  const document = { name: `again-${crypto.randomUUID().slice(0, 8)}` };
  const workflow = await apply(admin, greets, { document });
  const path = `/workflows/${workflow.id}/executions?wait=30s`;
  const start = { input: { name: `O'Brien "Ö" \\ $HOME` }, labels: { customer: "42" } };
  const { execution_id: id } = await admin.call<{ execution_id: string }>("POST", path, start);
  await apply(admin, [{ other: { set: { greeting: "changed" } } }], { document });
  await enter("operator", "Alan Turing");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`/executions/${id}`);
  await hand.press("More");
  await hand.press("Copy as curl");
  await expect(page.getByRole("button", { name: "Copied", exact: true })).toBeVisible();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toContain("$CHARGEHAND_API_KEY");
  const body = { name: "again", environment: "live", preset: "run" };
  const { key } = await admin.call<{ key: string }>("POST", "/me/api-keys", body);
  const begun = JSON.parse(await runCommand(command, key)) as { execution_id: string };
  expect(begun.execution_id).not.toBe(id);
  expect(await admin.call("GET", `/executions/${begun.execution_id}`)).toMatchObject({
    workflow: workflow.name,
    ...start,
  });

  await page.keyboard.press("Escape"); // with Tab, what is before the focus is reached through the whole page
  await hand.press("More");
  await hand.press("Open the definition");
  const dialog = page.getByRole("dialog", { name: `Definition of ${workflow.name}` });
  await expect(dialog).toContainText("Version 1.0.0, revision 1");
  const text = dialog.getByRole("region", { name: "Definition" });
  await expect(text).toContainText("${ .name }");
  await expect(text).not.toContainText("changed");
  await inspect("execution-definition");
  const [file] = await Promise.all([page.waitForEvent("download"), hand.press("Download")]);
  expect(JSON.parse(await readFile(await file.path(), "utf8"))).toMatchObject({ document, do: greets });
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "More" })).toBeFocused();

  // Who only reads executions starts none.
  await enter("viewer", "Vera Rubin");
  await page.goto(`/executions/${id}`);
  await hand.press("More");
  await expect(page.getByRole("button", { name: "Open the definition" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Copy as curl" })).toHaveCount(0);
});

/** The entries of a zip file, which Python has checked and unpacked. */
function unzip(path: string): Record<string, string> {
  const program =
    "import json, sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; " +
    "print(json.dumps({n: z.read(n).decode() for n in z.namelist()}))";
  return JSON.parse(execFileSync("python3", ["-c", program, path], { encoding: "utf8" })) as Record<string, string>;
}

test("a log is drawn as text, and searched", async ({ page, admin, member, signIn, hand, inspect }) => {
  const workflow = await apply(admin, [
    { say: { call: "log:1.0.0@default", with: { message: "\u001b[31mred\u001b[0m <b>not bold</b>" } } },
    { warn: { call: "log:1.0.0@default", with: { message: "a second line", level: "warning" } } },
    {
      each: {
        for: { each: "n", in: "${ [range(2)] }" },
        do: [{ tell: { call: "log:1.0.0@default", with: { message: '${ "item \\($n)" }' } } }],
      },
    },
  ]);
  const id = await run(admin, workflow);
  await signIn(member);
  await page.goto(`/executions/${id}?tab=log`);
  const log = page.getByRole("log", { name: "Lines of the log" });
  await expect(log).toContainText("red <b>not bold</b>");
  const red = log.getByText("red", { exact: true });
  const colours = [red, log.getByText("<b>not bold</b>")].map((part) =>
    part.evaluate((element) => getComputedStyle(element).color),
  );
  expect((await Promise.all(colours))[0]).not.toBe((await Promise.all(colours))[1]);
  await expect(log.locator("time")).toHaveCount(4);
  // Each line names its task.
  await expect(log.locator(".log-line").nth(1).getByRole("link", { name: "warn", exact: true })).toBeVisible();
  await expect(log.locator(".log-task")).toHaveText(["say", "warn", "tell · pass 1", "tell · pass 2"]);
  await page.getByLabel("Times").uncheck();
  await expect(log.locator("time")).toHaveCount(0);
  await page.getByLabel("Wrap lines").uncheck();
  await inspect("execution-log-unwrapped");
  const [file] = await Promise.all([page.waitForEvent("download"), hand.press("Download these lines")]);
  expect(file.suggestedFilename()).toMatch(/^[0-9a-f]{8}\.log$/);
  expect(await readFile(await file.path(), "utf8")).toMatch(
    / info \[say\] .*red <b>not bold<\/b>\n.* warning \[warn\] .*a second line\n.*\[tell · pass 1\] .*item 0\n.*\[tell · pass 2\] .*item 1\n$/,
  );
  await expect(page.locator(".tabs [aria-current]")).toHaveText(["Log"]);
  await inspect("execution-log");
  await hand.fill("Text", "second");
  await hand.press("Apply");
  await expect(log).not.toContainText("not bold");
  await expect(log).toContainText("a second line");
  await hand.fill("Text", "nothing like this");
  await hand.press("Apply");
  await expect(page.getByText("No line matches.")).toBeVisible();
  await hand.fill("Text", "item 1");
  await hand.press("Apply");
  await hand.follow("tell · pass 2");
  await expect(page.getByRole("region", { name: "Run of the task" })).toContainText("item 1");
  await expect(page).toHaveURL(/task=\/do\/2\/each\/do\/0\/tell/);
});

test("a loop of 10,000 passes opens as one row, with the pass that is asked for", async ({
  page,
  admin,
  member,
  signIn,
}) => {
  const check = { check: refuse({}, { if: "${ $n % 1000 == 7 }" }) };
  const attempt = { attempt: { try: [check], catch: { errors: { with: { status: 422 } } } } };
  const workflow = await apply(admin, [{ each: { for: { each: "n", in: "${ [range(10000)] }" }, do: [attempt] } }]);
  const id = await run(admin, workflow, {}, "60s");
  const status = async () => (await admin.call<{ status: string }>("GET", `/executions/${id}`)).status;
  await expect.poll(status, { timeout: 120_000 }).toBe("finished");
  await signIn(member);
  const work = await Work.of(page);
  const begun = performance.now();
  await page.goto(`/executions/${id}?pass=5007&task=/do/0/each/do/0/attempt/try/0/check`);
  await expect(page.getByRole("spinbutton", { name: "Pass of each" })).toHaveValue("5008");
  await expect(page.getByRole("region", { name: "Run of the task" })).toContainText("Refused by Anna");
  const spent = await work.spent();
  const took = performance.now() - begun;
  measured(`a pass of 10,000: there after ${took.toFixed(0)} ms, ${spent.toFixed(0)} ms of a processor in the page`);
  expect(spent, "milliseconds of a processor until the pass is there").toBeLessThan(1000);
  await page.goto(`/executions/${id}`);
  await expect(page.getByRole("group", { name: "Pass of each" })).toContainText("10,000 passes");
  await expect(page.getByRole("treeitem")).toHaveCount(3);
  await page.getByRole("tree", { name: "Tasks" }).press("+");
  await expect(page).toHaveURL(/zoom=\d+-\d+/);
  await expect(page.getByRole("treeitem")).toHaveCount(3);
  await page.getByRole("button", { name: "Previous failed pass" }).click();
  await expect(page).toHaveURL(/pass=9007/);
  // Two keys lead to what has failed.
  await page.getByRole("button", { name: "Previous failed pass" }).press("Enter");
  await expect(page).toHaveURL(/pass=8007/);
  await page.getByRole("treeitem", { name: /check/ }).click();
  await expect(page.getByRole("region", { name: "Run of the task" })).toContainText("Refused by Anna");
  expect(await heapOf(page), "bytes of the heap").toBeLessThan(150e6);
  await page.goto(`/executions/${id}?tab=graph&view=picture`);
  const picture = page.getByRole("application", { name: "Graph of the tasks" });
  await expect(picture.getByRole("button", { name: /^attempt try/ })).toContainText("10,000");
  await expect(picture.getByRole("button", { name: /^check raise/ })).toContainText("10");
  expect(await heapOf(page), "bytes of the heap with the graph").toBeLessThan(150e6);
});

test("a timeline that is too long to be drawn says so, and shows the newest runs of a selected task", async ({
  page,
  admin,
  member,
  signIn,
  inspect,
}) => {
  const again = [{ again: { when: "${ .n < 300 }", then: "count" } }, { enough: { then: "last" } }];
  const workflow = await apply(admin, [
    { count: { set: { n: "${ (.n // 0) + 1 }" } } },
    { check: { switch: again } },
    { last: { set: { reached: "${ .n }" } } },
  ]);
  const id = await run(admin, workflow, {}, "60s");
  await signIn(member);
  await page.goto(`/executions/${id}`);
  const cut = page.getByText("Only the first 500 runs of these tasks are drawn together: count, check and last.");
  await expect(cut).toBeVisible();
  const inspector = page.getByRole("region", { name: "Run of the task" });
  await page.getByRole("treeitem", { name: /^last/ }).click();
  await expect(inspector).toContainText("reached");
  await page.getByRole("treeitem", { name: /^count/ }).click();
  await expect(inspector).toContainText("n: 300");
  await expect(inspector.getByRole("button", { name: "run 300", exact: true })).toHaveAttribute("aria-pressed", "true");
  await inspect("execution-cut");
});

test("a page that the server refuses, or is too busy for, says so", async ({
  page,
  admin,
  member,
  signIn,
  watch,
  inspect,
}) => {
  const id = await run(admin, await apply(admin, [{ greet: { set: { greeting: "hello" } } }]));
  await signIn(member);
  for (const status of [403, 500]) {
    await answerWith(page, "**/progress*", { status });
    await page.goto(`/executions/${id}`);
    await expect(page.getByRole("alert")).toContainText(status === 403 ? "You may not see this" : "Spoiled with 500");
    await inspect(`execution-answer-${status}`);
    await page.unroute("**/progress*");
  }
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("treeitem", { name: /greet/ })).toBeVisible();
  expect(watch.take().filter((line) => !/^(403|500) for /.test(line))).toEqual([]);
});
