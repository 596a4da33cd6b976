import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { expect, test } from "../harness.ts";
import { holdBack } from "../hold.ts";
import { snippetsOf } from "../snippets.ts";
import { apply, run } from "../workflows.ts";

const schema = (document: object) => ({ input: { schema: { format: "json", document } } });
const hello = [{ greet: { set: { greeting: '${ "Hello, \\(.name)!" }' } } }];
const named = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string", minLength: 1, pattern: "^[A-Z]", description: "Begins with a **capital**." } },
};

test("a person runs a workflow from its form, and downloads the result @keyboard", async ({
  page,
  admin,
  enter,
  hand,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, hello, { document: { title: "Say hello" }, ...schema(named) });
  await enter("operator", "Alan Turing");
  await page.goto(`/workflows/${workflow.name}`);
  await hand.follow("Run");
  await expect(page).toHaveURL(`/workflows/${workflow.name}?tab=run`);
  await inspect("run");

  // What is missing is said before anything is sent, what the schema refuses by the server, both at the field.
  const name = page.getByLabel("Name", { exact: true });
  await hand.press("Start");
  await expect(page.getByText("Fill this in.")).toBeVisible();
  await expect(name).toBeFocused();
  await hand.fill("Name", "ada");
  await hand.press("Start");
  await expect(name).toHaveAttribute("aria-invalid", "true");
  await expect(page.locator(".schema-wrong")).toContainText("^[A-Z]");
  await expect(name).toHaveValue("ada");
  await inspect("run-refused");
  expect(watch.take()).toEqual([expect.stringMatching(/^422 for .*\/executions$/)]);

  // What was typed is there again after another tab, and after the page was loaded again.
  await hand.fill("Name", "Ada");
  await hand.follow("Definition");
  await hand.follow("Run");
  await expect(name).toHaveValue("Ada");
  await page.reload();
  await expect(name).toHaveValue("Ada");
  const sent = page.waitForRequest((request) => request.method() === "POST");
  await hand.press("Start");
  expect((await sent).headers()["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);
  await expect(page.getByText("finished", { exact: true }).first()).toBeVisible();

  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const execution = await admin.call<{ results: { filename: string; sha256: string }[] }>("GET", `/executions/${id}`);
  const [result] = execution.results;
  await hand.follow("Files");
  const download = page.waitForEvent("download");
  await hand.follow(result?.filename ?? "");
  const bytes = await readFile(await (await download).path());
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(result?.sha256);
  expect(bytes.toString()).toContain("Hello, Ada!");

  // Another start can begin with that input.
  await page.goto(`/workflows/${workflow.name}?tab=run`);
  await expect(name).toHaveValue("");
  await page.getByText("Use an earlier input").press("Enter");
  await expect(page.getByRole("list", { name: "Use an earlier input" })).toContainText("finished");
  await inspect("run-earlier");
  await hand.press('{"name":"Ada"}');
  await expect(name).toHaveValue("Ada");
});

test("a form has a field for what a schema can say", async ({ page, admin, enter, hand, inspect }) => {
  const text = { type: "string" };
  const workflow = await apply(
    admin,
    [{ keep: { set: "${ . }" } }],
    schema({
      type: "object",
      properties: {
        note: { type: "string", maxLength: 4000 },
        count: { type: "integer", default: 2 },
        price: { type: "number" },
        agree: { type: "boolean" },
        colour: { enum: ["red", "green"] },
        sizes: { type: "array", uniqueItems: true, items: { enum: ["S", "M", "L"] } },
        day: { type: "string", format: "date" },
        at: { type: "string", format: "date-time" },
        email: { type: "string", format: "email" },
        picture: { type: "object", format: "file-ref" },
        order: { type: "object", required: ["id"], properties: { id: text } },
        rows: { type: "array", items: { type: "object", properties: { item: text } } },
        labels: { type: "object", additionalProperties: text },
        place: {
          type: "array",
          prefixItems: [
            { type: "number", title: "East" },
            { type: "number", title: "North" },
          ],
        },
        how: {
          oneOf: [
            { type: "string", title: "In words" },
            { type: "integer", title: "As a number" },
          ],
        },
        any: {},
      },
    }),
  );
  await enter("operator", "Alan Turing");
  await page.goto(`/workflows/${workflow.name}?tab=run`);

  await hand.fill("Note", "two\nlines");
  await expect(page.getByLabel("Count", { exact: true })).toHaveValue("2");
  await hand.fill("Price", "1.25");
  await page.getByLabel("Agree").check();
  await page.getByLabel("Colour", { exact: true }).selectOption("green");
  await page.getByRole("group", { name: "Sizes" }).getByLabel("M").check();
  await page.getByLabel("Day", { exact: true }).fill("2026-01-31");
  await page.getByLabel("At", { exact: true }).fill("2026-01-31T10:30");
  await hand.fill("Email", "ada@example.com");
  const picture = { name: "dot.txt", mimeType: "text/plain", buffer: Buffer.from("a picture in words") };
  // What is typed while a file is stored stays.
  const letThrough = await holdBack(page, "**/api/v1/files?*", "POST");
  await page.getByLabel("Picture", { exact: true }).setInputFiles(picture);
  await hand.fill("Id", "4711");
  await letThrough();
  await expect(page.getByRole("button", { name: "Remove dot.txt" })).toBeVisible();
  await expect(page.getByLabel("Id", { exact: true })).toHaveValue("4711");
  // One that was removed can be chosen again: browsers tell of no change when a field has it still.
  await hand.press("Remove dot.txt");
  await expect(page.getByLabel("Picture", { exact: true })).toHaveValue("");
  await page.getByLabel("Picture", { exact: true }).setInputFiles(picture);
  await expect(page.getByRole("button", { name: "Remove dot.txt" })).toBeVisible();
  await hand.press("Add an entry to Rows");
  await hand.press("Add an entry to Rows");
  await page.getByLabel("Item", { exact: true }).nth(1).fill("lamp");
  await hand.press("Remove Entry 1");
  await hand.press("Add an entry to Labels");
  await hand.fill("Name", "team");
  await page.getByRole("group", { name: "Labels" }).getByLabel("Value", { exact: true }).fill("blue");
  await hand.fill("East", "11.5");
  await hand.fill("North", "48");
  await page.getByRole("group", { name: "How" }).getByRole("combobox").selectOption("As a number");
  await hand.fill("As a number", "7");
  await hand.fill("Any", "[");
  await hand.press("Start");
  await expect(page.getByText("This is not JSON")).toBeVisible();
  await inspect("run-every-kind");
  await hand.fill("Any", '{"deep": [true]}');

  // As JSON and back: nothing is lost.
  await hand.press("Write it as JSON");
  const json = page.getByLabel("Input", { exact: true });
  expect(JSON.parse(await json.inputValue())).toMatchObject({ labels: { team: "blue" }, place: [11.5, 48], how: 7 });
  await inspect("run-json");
  await json.fill('{"unknown": 1}');
  await hand.press("Back to the form");
  await expect(page.getByText("The form cannot show this")).toBeVisible();
  await expect(json).toHaveValue('{"unknown": 1}');
  await page.goto(`/workflows/${workflow.name}?tab=run`);
  await expect(json).toHaveValue('{"unknown": 1}');
  await json.fill('{"note": "kept", "count": 3, "rows": [{"item": "lamp"}], "any": {"deep": [true]}}');
  await hand.press("Back to the form");
  await expect(page.getByLabel("Note", { exact: true })).toHaveValue("kept");
  await expect(page.getByLabel("Item", { exact: true })).toHaveValue("lamp");
  await hand.press("Start");
  await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);
  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const execution = await admin.call<{ input: object }>("GET", `/executions/${id}`);
  expect(execution.input).toEqual({ note: "kept", count: 3, rows: [{ item: "lamp" }], any: { deep: [true] } });
});

test("programs start a workflow as its page says, with the input of the form", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, hello, schema(named));
  await enter("operator", "Alan Turing");
  await page.goto(`/workflows/${workflow.name}?tab=run`);
  await hand.fill("Name", `O'Brien "Ö" \\ $HOME`);
  await hand.follow("API");
  await expect(page).toHaveURL(`/workflows/${workflow.name}?tab=api`);
  await inspect("workflow-api");
  const body = { name: "snippets", environment: "live", preset: "run" };
  const { key } = await admin.call<{ key: string }>("POST", "/me/api-keys", body);
  for (const snippet of await snippetsOf(page, "One execution", ["Go"])) {
    expect(await snippet.run(key), snippet.name).toContain("Brien");
  }
  const count = async () =>
    (await admin.call<{ count: number }>("GET", `/executions/count?workflow=${workflow.name}`)).count;
  await expect.poll(count).toBe(5);
  for (const snippet of await snippetsOf(page, "A batch", ["Go"])) {
    expect(await snippet.run(key), snippet.name).toContain("completed");
  }
  await expect.poll(count).toBe(15);
  const { data } = await admin.call<{ data: { total: number; completed: number }[] }>(
    "GET",
    `/workflows/${workflow.id}/batch`,
  );
  expect(data.map(({ total, completed }) => [total, completed])).toEqual(Array.from({ length: 5 }, () => [2, 2]));
});

test("a participant starts a workflow whose definition they may not see", async ({ page, admin, enter, hand }) => {
  const workflow = await apply(admin, hello, schema(named));
  await run(admin, workflow, { name: "Ada" });
  await enter("participant", "Anna Kuliscioff");
  await page.goto(`/workflows/${workflow.name}`);
  await expect(page.getByRole("link", { name: "Definition" })).toHaveCount(0);
  await hand.fill("Name", "Anna");
  await hand.press("Start");
  await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);
});

test("a field that was left says what the schema has against it, and nothing keeps from sending", async ({
  page,
  admin,
  enter,
  hand,
  inspect,
  watch,
}) => {
  const workflow = await apply(
    admin,
    [{ keep: { set: "${ . }" } }],
    schema({
      type: "object",
      required: ["name", "mail"],
      properties: {
        name: { type: "string", maxLength: 5 },
        mail: { type: "string", format: "email" },
        count: { type: "integer", minimum: 3 },
      },
    }),
  );
  await enter("operator", "Alan Turing");
  await page.goto(`/workflows/${workflow.name}?tab=run`);
  const name = page.getByLabel("Name", { exact: true });
  const count = page.getByLabel("Count", { exact: true });
  await hand.fill("Name", "Lovelace");
  await expect(page.getByText("At most 5 characters.")).toHaveCount(0);
  await hand.fill("Count", "1");
  await expect(page.getByText("At most 5 characters.")).toBeVisible();
  await expect(name).toHaveAttribute("aria-invalid", "true");
  await expect(name).toHaveAccessibleDescription(/At most 5 characters/);
  await expect(count).not.toHaveAttribute("aria-invalid");
  await hand.fill("Mail", "ada");
  await expect(page.getByText("At least 3.")).toBeVisible();
  await inspect("run-checked");

  // The server decides, in its own words at the same fields.
  await hand.press("Start");
  await expect(name).toBeFocused();
  await expect(page.getByText("At most 5 characters.")).toHaveCount(0);
  await expect(page.locator(".schema-wrong")).toHaveCount(3);
  expect(watch.take()).toEqual([expect.stringMatching(/^422 for .*/)]);
  await hand.fill("Name", "Ada");
  await hand.fill("Mail", "ada@example.com");
  await hand.fill("Count", "3");
  await expect(name).not.toHaveAttribute("aria-invalid");
  await hand.press("Start");
  await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);
});

test("a pattern without end holds up neither the page nor the start", async ({ page, admin, enter, hand }) => {
  const workflow = await apply(
    admin,
    [{ keep: { set: "${ . }" } }],
    schema({
      type: "object",
      properties: { name: { type: "string", pattern: "^(a+)+$" }, note: { type: "string", maxLength: 2 } },
    }),
  );
  await enter("operator", "Alan Turing");
  await page.goto(`/workflows/${workflow.name}?tab=run`);
  const loaded = page.waitForEvent("worker");
  await hand.fill("Name", `${"a".repeat(60)}!`);
  const note = page.getByLabel("Note", { exact: true });
  await hand.fill("Note", "long");
  await Promise.all([(await loaded).waitForEvent("close"), note.press("Home")]);
  await expect(note).not.toHaveAttribute("aria-invalid");
  await hand.fill("Name", "aaa");
  await hand.fill("Note", "ok");
  await hand.press("Start");
  await expect(page).toHaveURL(/\/executions\/[0-9a-f-]{36}$/);
});
