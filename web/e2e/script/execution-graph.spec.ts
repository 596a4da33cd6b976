import { expect, test } from "../harness.ts";
import { apply, refuse, run } from "../workflows.ts";

test("the graph of an execution shows how its tasks are and opens them, as a picture and as an outline", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [
    { greet: { set: { size: "${ .size }" } } },
    {
      route: {
        switch: [
          { small: { when: "${ .size == 1 }", then: "each" } },
          { large: { when: "${ .size == 2 }", then: "other" } },
        ],
      },
    },
    { other: { set: { other: true }, then: "last" } },
    {
      each: {
        for: { each: "n", in: "${ [range(3)] }" },
        do: [
          {
            attempt: {
              try: [{ check: refuse({}, { if: "${ $n == 1 }" }) }],
              catch: { errors: { with: { status: 422 } }, do: [{ tell: { set: { told: true } } }] },
            },
          },
        ],
      },
    },
    { pause: { wait: { milliseconds: 1 } } },
    { refuse: refuse() },
    { last: { set: { done: true } } },
  ]);
  const id = await run(admin, workflow, { size: 1 });
  await signIn(member);
  await page.goto(`/executions/${id}`);
  await hand.follow("Graph");
  await expect(page).toHaveURL(/tab=graph/);
  const picture = page.getByRole("application", { name: "Graph of the tasks" });
  await expect(picture.getByRole("button", { name: /^refuse raise error/ })).toHaveAttribute("aria-pressed", "true");
  const inspector = page.getByRole("region", { name: "Run of the task" });
  await expect(inspector).toContainText("Refused by Anna");
  await hand.press("Close");
  await expect(inspector).toBeHidden();
  await hand.press("Show all");
  const greet = picture.getByRole("button", { name: /^greet set finished/ });
  await expect(greet).toBeVisible();
  await expect(picture.getByRole("button", { name: /^other set not reached/ })).toBeVisible();
  await inspect("execution-graph");

  // Arrows lead along the lines, and Enter opens.
  await greet.focus();
  await page.keyboard.press("ArrowDown");
  await expect(picture.getByRole("button", { name: /^route switch finished/ })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/task=\/do\/1\/route/);
  await expect(inspector.getByRole("heading", { name: "route" })).toBeVisible();

  // A closed box is one task, and says what it holds.
  const fold = picture.getByRole("button", { name: "Tasks in each" });
  await fold.focus();
  await page.keyboard.press("Enter");
  await expect(fold).toHaveAttribute("aria-expanded", "false");
  await expect(picture.getByRole("button", { name: /^each for/ })).toContainText("3 tasks");

  await hand.press("Outline");
  const tree = page.getByRole("tree", { name: "Graph of the tasks" });
  await expect(tree.getByRole("treeitem", { name: /route.*small: then each/ })).toBeVisible();
  await tree.getByRole("treeitem", { name: /^other/ }).click();
  await expect(page.getByRole("status").filter({ hasText: "other has not been reached" })).toBeVisible();
  await inspect("execution-outline");
});

test("the graph of a running execution follows it", async ({ page, admin, member, signIn }) => {
  const workflow = await apply(admin, [
    { before: { set: { ready: true } } },
    { hold: { listen: { to: { one: { with: { type: "com.example.go" } } } } } },
    { after: { set: { done: true } } },
  ]);
  const id = await run(admin, workflow, {}, "1s");
  await signIn(member);
  await page.goto(`/executions/${id}?tab=graph`);
  const picture = page.getByRole("application", { name: "Graph of the tasks" });
  await expect(picture.getByRole("button", { name: /^hold listen waiting/ })).toBeVisible();
  await expect(picture.getByRole("button", { name: /^after set not reached/ })).toBeVisible();
  await admin.call("POST", `/workflows/${workflow.id}/executions/${id}/cancel`, {});
  await expect(picture.getByRole("button", { name: /^hold listen cancelled/ })).toBeVisible();
});
