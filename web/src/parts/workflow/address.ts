/** What the page of a workflow shows, as its address says it. */
export const tabs = ["definition", "versions"] as const;
export type Tab = (typeof tabs)[number];

export interface Address {
  /** Missing: the definition. */
  tab?: Tab;
  /** Missing: the version that is started. */
  version?: string;
}

export function readAddress(search: Record<string, unknown>): Address {
  const tab = tabs.find((known) => known === search["tab"]);
  const version = search["version"];
  return {
    ...(tab !== undefined && tab !== "definition" && { tab }),
    ...(typeof version === "string" && version !== "" && { version }),
  };
}
