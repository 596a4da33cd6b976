/** What the page of a workflow shows, as its address says it. */
export const tabs = ["definition", "graph", "versions", "run", "api"] as const;
export type Tab = (typeof tabs)[number];

/** Who may see a part. */
export const scopes: Record<Tab, string> = {
  definition: "workflows:read",
  graph: "workflows:read",
  versions: "workflows:read",
  run: "executions:create",
  api: "executions:create",
};

export interface Address {
  /** Missing: the definition, or the form where the person may not see that. */
  tab?: Tab;
  /** Missing: the version that is started. */
  version?: string;
  /** Reference of the task that is selected in the graph. */
  task?: string;
  /** How the graph is shown. Missing: as an outline where there is little room. */
  view?: "picture" | "outline";
  /** The definition is being changed. */
  mode?: "edit";
  /** Execution and number of a run whose input expressions are tried with. */
  sample?: string;
  /** Versions that are compared. */
  from?: string;
  to?: string;
  layout?: "split" | "unified";
}

/** Changes some of the address; undefined takes a part away. */
export type Go = (change: { [Key in keyof Address]?: Address[Key] | undefined }) => void;

export function readAddress(search: Record<string, unknown>): Address {
  const tab = tabs.find((known) => known === search["tab"]);
  const version = search["version"];
  const task = search["task"];
  const view = (["picture", "outline"] as const).find((known) => known === search["view"]);
  const layout = (["split", "unified"] as const).find((known) => known === search["layout"]);
  const text = (name: "sample" | "from" | "to") => {
    const value = search[name];
    return typeof value === "string" && value !== "" ? { [name]: value } : {};
  };
  return {
    ...(tab !== undefined && { tab }),
    ...(typeof version === "string" && version !== "" && { version }),
    ...(typeof task === "string" && task.startsWith("/") && { task }),
    ...(view !== undefined && { view }),
    ...(search["mode"] === "edit" && { mode: "edit" as const }),
    ...text("sample"),
    ...text("from"),
    ...text("to"),
    ...(layout !== undefined && { layout }),
  };
}
