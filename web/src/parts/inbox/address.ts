import { views, type TaskFilter } from "../../api/tasks.ts";

const texts = ["workflow", "q", "batch", "execution"] as const;

/** Which tasks the inbox lists, as its address says it. */
export function readAddress(search: Record<string, unknown>): TaskFilter {
  const filter: TaskFilter = {};
  const view = views.find((known) => known === search["view"]);
  if (view !== undefined && view !== "mine") {
    filter.view = view;
  }
  if (search["overdue"] === "true") {
    filter.overdue = "true";
  }
  for (const name of texts) {
    const value = search[name];
    if (typeof value === "string" && value !== "") {
      filter[name] = value;
    }
  }
  return filter;
}

/** The same without its view: what a person has narrowed it down to. */
export const narrowed = (filter: TaskFilter): boolean => Object.keys(filter).some((key) => key !== "view");
