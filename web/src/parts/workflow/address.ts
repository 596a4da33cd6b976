/** What the page of a workflow shows, as its address says it. */
export const tabs = ["definition", "versions", "run", "api"] as const;
export type Tab = (typeof tabs)[number];

/** Who may see a part. */
export const scopes: Record<Tab, string> = {
  definition: "workflows:read",
  versions: "workflows:read",
  run: "executions:create",
  api: "executions:create",
};

export interface Address {
  /** Missing: the definition, or the form where the person may not see that. */
  tab?: Tab;
  /** Missing: the version that is started. */
  version?: string;
}

export function readAddress(search: Record<string, unknown>): Address {
  const tab = tabs.find((known) => known === search["tab"]);
  const version = search["version"];
  return {
    ...(tab !== undefined && { tab }),
    ...(typeof version === "string" && version !== "" && { version }),
  };
}
