// The page of a link to a human task: no account, no script.
import { deflateSync } from "node:zlib";
import { expect, test } from "../harness.ts";
import { address, type Admin } from "../people.ts";
import { ask, asking, type Asked } from "../tasks.ts";

/** Makes a link to a task: its address. */
async function linkTo(admin: Admin, task: Asked, more: object = {}): Promise<string> {
  const made = await admin.call<{ url: string }>("POST", `/human-tasks/${task.id}/links`, { name: "Eve", ...more });
  return made.url;
}

interface Answered {
  status: string;
  answer?: { outcome: string; data: unknown; comment: string; files: { name: string }[]; by: object };
}

const read = (admin: Admin, task: Asked) => admin.call<Answered>("GET", `/human-tasks/${task.id}`);

/** A request of a program that follows addresses in mails. */
const scan = (url: string, method = "GET") => fetch(url, { method, headers: { "X-Forwarded-For": address() } });

/** Stores a picture of one colour, and returns the reference to it. */
async function storePicture(admin: Admin, url: string, name: string): Promise<object> {
  const { key } = await admin.call<{ key: string }>("POST", "/api-keys", { name, scopes: ["files:write"] });
  const headers = { "x-api-key": key, "Content-Type": "image/png" };
  const to = `${url}/api/v1/files?filename=${encodeURIComponent(name)}`;
  const answer = await fetch(to, { method: "POST", headers, body: new Uint8Array(picture(320, 200)) });
  return ((await answer.json()) as { reference: object }).reference;
}

/** A PNG of one shade of grey. */
function picture(width: number, height: number): Buffer {
  const table = Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) {
      c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    }
    return c >>> 0;
  });
  const crc = (data: Buffer) => {
    let c = 0xffffffff;
    for (const byte of data) {
      c = (table[(c ^ byte) & 255] ?? 0) ^ (c >>> 8);
    }
    return (c ^ 0xffffffff) >>> 0;
  };
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bits of a shade
  const rows = Buffer.alloc((width + 1) * height, 0x99);
  for (let y = 0; y < height; y++) {
    rows[y * (width + 1)] = 0;
  }
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const form = {
  type: "object",
  required: ["total", "payment"],
  "x-order": ["total", "payment", "number", "paid", "lines"],
  properties: {
    total: { type: "number", title: "Total", minimum: 1 },
    payment: { title: "Payment", enum: ["card", "bill"] },
    paid: { title: "Paid on", type: "string", format: "date" },
    lines: {
      title: "Lines",
      type: "array",
      items: { type: "object", required: ["sku"], properties: { sku: { type: "string", title: "Article" } } },
    },
  },
  if: { properties: { payment: { const: "card" } }, required: ["payment"] },
  // oxlint-disable-next-line unicorn/no-thenable
  then: { properties: { number: { type: "string", title: "Card number" } }, required: ["number"] },
};

test("a person answers by a link, once, and programs that follow it decide nothing @keyboard", async ({
  page,
  hand,
  inspect,
  server,
  admin,
}) => {
  const workflow = await asking(admin, {
    title: "Approve the invoice of Acme",
    instructions: "Compare the **total** with the scan.\n\nSee [the rules](https://example.com/rules).",
    show: "${ {supplier: .supplier, lines: [1, 2]} }",
    files: "${ .files }",
    form,
    data: { total: 119 },
    outcomes: [
      { name: "approve", title: "Approve", style: "primary" },
      { name: "reject", title: "Reject", style: "danger" },
    ],
    due: { days: 3 },
    upload: { accept: ["image/*", ".pdf"], max: 2 },
  });
  const scanned = await storePicture(admin, server.url, "scan of the invoice.png");
  const task = await ask(admin, workflow, { supplier: "Acme <b>Ltd.</b>", files: [scanned] });
  const link = await linkTo(admin, task, { email: "eve@example.org" });
  for (const method of ["GET", "HEAD", "GET"]) {
    expect((await scan(link, method)).status).toBe(200);
  }
  expect((await read(admin, task)).status).toBe("open");

  await page.goto(link);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Approve the invoice of Acme");
  await expect(page.getByText("Acme <b>Ltd.</b>")).toBeVisible();
  await expect(page.getByRole("img", { name: "scan of the invoice.png" })).toBeVisible();
  await expect(page.getByRole("link", { name: "the rules" })).toHaveAttribute("target", "_blank");
  await inspect("task-page");

  // The Enter key decides nothing, whatever is entered.
  await hand.fill("Total", "1,500");
  await page.getByLabel("Total").press("Enter");
  const summary = page.getByRole("alert");
  await expect(summary.getByRole("link")).toHaveText([/^Total: Write a decimal point/, "Payment: Fill this in."]);
  await expect(page.getByLabel("Total")).toHaveAccessibleDescription(/Write a decimal point/);
  await inspect("task-page-refused");
  await summary.getByRole("link", { name: /^Total/ }).click();
  await expect(page.getByLabel("Total")).toBeFocused();
  expect((await read(admin, task)).status).toBe("open");

  await hand.fill("Total", "1500");
  await page.getByLabel("card", { exact: true }).check();
  await hand.press("Check what I have entered");
  await hand.fill("Card number", "4111");
  await page.getByLabel("Paid on").fill("2026-01-31");
  await hand.press("Add a row: Lines");
  await hand.fill("Article", "lamp");
  await hand.press("Add a row: Lines");
  await expect(page.getByRole("group", { name: "Lines 2" })).toBeFocused();
  await hand.press("Remove row: Lines 2");
  await expect(page.getByRole("group", { name: "Lines 2" })).toHaveCount(0);
  await page.getByLabel("Add files").setInputFiles([
    { name: "photo.png", mimeType: "image/png", buffer: picture(8, 8) },
    { name: "program.exe", mimeType: "application/x-msdownload", buffer: Buffer.from("MZ") },
  ]);
  await page.getByLabel("Comment (optional)").fill("As <agreed>.\n\nEve");
  await hand.press("Approve");
  await expect(summary.getByRole("link")).toHaveText([
    "Your files: program.exe is not of the kind that is accepted here.",
  ]);
  await expect(page.getByLabel("photo.png")).toBeChecked();
  await expect(page.getByLabel("Comment (optional)")).toHaveValue("As <agreed>.\n\nEve");
  await inspect("task-page-files");
  await hand.press("Check what I have entered");
  await expect(page.getByRole("status")).toContainText("Everything is filled in correctly");
  await inspect("task-page-checked");
  await hand.press("Approve");

  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Thank you, your answer has arrived");
  await expect(page.getByText("Your answer: Approve")).toBeVisible();
  await inspect("task-page-used");
  const { status, answer } = await read(admin, task);
  expect(status).toBe("answered");
  expect(answer).toMatchObject({
    outcome: "approve",
    data: { total: 1500, payment: "card", number: "4111", paid: "2026-01-31", lines: [{ sku: "lamp" }] },
    comment: "As <agreed>.\n\nEve",
    files: [{ name: "photo.png" }],
    by: { id: "eve@example.org", name: "Eve", via: { kind: "link" } },
  });
  await page.goto(link);
  await expect(page.getByRole("button")).toHaveCount(0);
  await expect(page.getByText(/^It was given by this link on /)).toBeVisible();
});

test("a link whose task another person has answered, or that was withdrawn, says so", async ({
  page,
  hand,
  inspect,
  admin,
}) => {
  const workflow = await asking(admin, { title: "Pick a date", outcomes: ["monday", "tuesday"] });
  const first = await ask(admin, workflow);
  const [link, other] = [await linkTo(admin, first), await linkTo(admin, first, { name: "Bob" })];
  await page.goto(link);
  await inspect("task-page-bare");
  await admin.call("POST", `/human-tasks/${first.id}/claim`, {});
  await page.getByLabel("Comment (optional)").fill("Not before noon");
  await hand.press("monday");
  await expect(page.getByRole("alert")).toContainText("Another person is working on this task");
  await expect(page.getByLabel("Comment (optional)")).toHaveValue("Not before noon");
  await inspect("task-page-taken");
  await admin.call("POST", `/human-tasks/${first.id}/release`, {});
  await hand.press("monday");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Thank you, your answer has arrived");
  await page.goto(other);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("This task is done");
  await inspect("task-page-done");

  const second = await ask(admin, workflow);
  const late = await linkTo(admin, second);
  await page.goto(late);
  await admin.call("POST", `/workflows/${workflow.id}/executions/${second.execution}/cancel`, {});
  await expect.poll(async () => (await read(admin, second)).status).toBe("withdrawn");
  await hand.press("tuesday");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("This task is not needed any more");
  await inspect("task-page-withdrawn");
  await page.goto(`${late}x`);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("This link is not known");
  await inspect("task-page-unknown");
});

test.describe("in German", () => {
  test.use({ locale: "de-AT" });

  test("a person answers by a link", async ({ page, hand, inspect, admin }) => {
    const asks = { title: "Rechnung freigeben", form, outcomes: [{ name: "approve", title: "Freigeben" }] };
    const task = await ask(admin, await asking(admin, asks));
    await page.goto(await linkTo(admin, task));
    await expect(page.locator("html")).toHaveAttribute("lang", "de");
    await hand.fill("Total", "0");
    await page.getByLabel("bill", { exact: true }).check();
    await hand.press("Freigeben");
    await expect(page.getByRole("alert").getByRole("link")).toHaveText(
      "Total: Das liegt außerhalb dessen, was erlaubt ist.",
    );
    await inspect("german-task-page");
    await hand.fill("Total", "1,5");
    await hand.press("Freigeben");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Danke, deine Antwort ist angekommen");
    expect((await read(admin, task)).answer).toMatchObject({ data: { total: 1.5, payment: "bill" } });
  });
});
