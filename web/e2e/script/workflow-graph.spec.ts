import { expect, test } from "../harness.ts";
import { apply } from "../workflows.ts";

test("the graph of a workflow shows its tasks without states, and what the definition says of one", async ({
  page,
  admin,
  member,
  signIn,
  hand,
  inspect,
}) => {
  const workflow = await apply(admin, [
    { greet: { set: { size: "${ .size }" } } },
    { route: { switch: [{ small: { when: "${ .size == 1 }", then: "each" } }, { other: { then: "last" } }] } },
    {
      each: {
        for: { each: "n", in: "${ [range(3)] }" },
        do: [{ pause: { if: "${ $n > 1 }", wait: { seconds: 1 } } }],
      },
    },
    { last: { set: { done: true } } },
  ]);
  await signIn(member);
  await page.goto(`/workflows/${workflow.name}`);
  await hand.follow("Graph");
  await expect(page).toHaveURL(`/workflows/${workflow.name}?tab=graph`);
  const picture = page.getByRole("application", { name: "Graph of the tasks" });
  const pause = picture.getByRole("button", { name: /^pause wait/ });
  await expect(pause).toBeVisible();
  await expect(picture).not.toContainText("not reached");
  await hand.press("Show all");
  await pause.focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/task=\/do\/2\/each\/do\/0\/pause/);
  const task = page.getByRole("region", { name: "Task", exact: true });
  await expect(task).toContainText("$n > 1");
  await inspect("workflow-graph");
  await hand.press("Close");
  await expect(task).toBeHidden();
  await hand.press("Outline");
  const tree = page.getByRole("tree", { name: "Graph of the tasks" });
  await expect(tree.getByRole("treeitem", { name: /route.*small: then each/ })).toBeVisible();
  await inspect("workflow-outline");
});
