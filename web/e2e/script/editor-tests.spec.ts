import type { Page } from "@playwright/test";
import { expect, test } from "../harness.ts";
import { someone, type Admin, type Person } from "../people.ts";
import { apply } from "../workflows.ts";

/** A person that may change and publish workflows. */
async function author(admin: Admin, name: string): Promise<Person> {
  const person = someone(name);
  await admin.admit(person, [{ role: "publisher" }]);
  return person;
}

const tasks = [
  { ask: { call: "http", with: { method: "get", endpoint: "https://example.org/price" } } },
  { decide: { switch: [{ large: { when: ".total > 1000", then: "refuse" } }, { small: { then: "accept" } }] } },
  { refuse: { set: { accepted: false }, then: "end" } },
  { accept: { set: { accepted: true } } },
];

const tests = `tests:
  - name: a small order is accepted
    mocks:
      ask: {returns: {total: 5}, after: PT2S}
    expect:
      output: {accepted: false}
  - name: a call without a mock
`;

async function write(page: Page, label: string, text: string): Promise<void> {
  await page.getByRole("textbox", { name: label, exact: true }).focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(text);
}

test("an author tests a definition beside its text, and sees what no test has run", async ({
  page,
  admin,
  signIn,
  hand,
  watch,
  inspect,
}) => {
  const workflow = await apply(admin, tasks);
  await signIn(await author(admin, "Barbara Liskov"));
  await page.goto(`/workflows/${workflow.name}?mode=edit`);
  await hand.press("Tests");
  const results = page.getByRole("region", { name: "Results" });
  await expect(results).toContainText("The tests have not run yet.");
  await inspect("editor-tests-first");

  await write(page, "Tests", tests);
  await page.keyboard.press("ControlOrMeta+Enter"); // which does not start the workflow here
  await expect(results).toContainText("2 tests, 1 failed, 1 could not be run to an end");
  await expect(results).toContainText("They ran 3 of 4 tasks, and took 1 of 2 ways.");
  await expect(results).toContainText("a small order is accepted after 2 s of virtual time");
  await expect(results).toContainText('There is no mock for "ask"');
  await expect(results.getByLabel("Mock", { exact: true })).toContainText("ask: {response:");
  const marks = page.locator(".tests .cm-line", { has: page.locator(".cm-lintRange-error") });
  await expect(marks).toHaveText(["      output: {accepted: false}", "  - name: a call without a mock"]);
  await inspect("editor-tests");

  // A failure leads to its line in the tests, what was not run to its line in the definition.
  await page.keyboard.press("Escape"); // Tab leaves the tests now
  await hand.press("Line 6: expect.output.accepted");
  await expect(page.locator(".tests .cm-activeLine")).toHaveText("      output: {accepted: false}");
  await results.getByRole("button", { name: /refuse$/ }).press("Enter");
  await expect(page.getByRole("textbox", { name: "Definition", exact: true })).toBeFocused();
  await expect(page.locator(".workbench-text .cm-activeLine")).toContainText("refuse");

  await page.keyboard.press("Escape");
  await hand.press("Graph");
  const graph = page.getByRole("application", { name: "Graph of the tasks" });
  await expect(graph.locator(".graph-is-missed")).toContainText("not run by tests");
  await expect(graph.locator(".graph-is-partly")).toContainText("not taken: case large");
  await expect(graph.locator(".graph-is-covered")).toHaveCount(2);
  await inspect("editor-tests-graph");

  // What is wrong with the tests is marked where it stands.
  await hand.press("Tests");
  await write(page, "Tests", "tests:\n  - name: wrong\n    inptu: {}\n");
  await expect(results).toContainText("The definition or the tests have changed since.");
  await page.keyboard.press("Escape");
  await hand.press("Run the tests");
  await expect(page.locator(".tests").getByRole("alert")).toContainText("The tests are not valid");
  await expect(page.locator(".tests .cm-line", { has: page.locator(".cm-lintRange-error") })).toHaveText([
    "    inptu: {}",
  ]);
  watch.take(); // 422
  await inspect("editor-tests-wrong");

  // The browser keeps them.
  await write(page, "Tests", "tests:\n  - name: kept\n    mocks: {ask: {returns: {total: 5}}}\n");
  await page.keyboard.press("Escape");
  await hand.press("Run the tests");
  await expect(results).toContainText("1 test, all passed");
  const download = page.waitForEvent("download");
  await hand.press("Download the tests");
  expect((await download).suggestedFilename()).toBe(`${workflow.name.split("/")[1]}.test.yaml`);
  await page.reload();
  await hand.press("Tests");
  await expect(page.getByRole("textbox", { name: "Tests", exact: true })).toContainText("name: kept");
});
