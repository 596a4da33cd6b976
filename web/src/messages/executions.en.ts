import { formatList, plural } from "./format.ts";

/** Texts of the list of executions. */
export const executions = {
  count: (n: number) => plural(n, "execution", "executions"),
  columns: {
    state: "State",
    workflow: "Workflow",
    started: "Created",
    took: "Took",
    now: "Now",
    cause: "Cause",
  },
  filter: "Filter",
  filterHelp: "For example state:error workflow:shop/order label:customer=42 from:-24h, or the end of an id",
  states: "State",
  anyState: "any",
  presets: "Created",
  presetNames: { "-1h": "last hour", "-24h": "last 24 hours", "-7d": "last 7 days", any: "at any time" },
  remove: (filter: string) => `Remove ${filter}`,
  empty: "No workflow has run yet.",
  emptyFiltered: "No executions match.",
  emptyPage: "Nothing matches so far, and there are older executions to look at.",
  wrong: {
    key: (key: string) => `There is no filter ${key}:`,
    value: (key: string, value: string) => `${key}: does not take ${value}`,
    person: "state:person cannot be combined with other states",
    known: (keys: readonly string[]) => `There are ${formatList(keys)}, and text without a colon.`,
  },
};
