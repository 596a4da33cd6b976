/** What the page of an execution shows, as its address says it. */
export const tabs = ["timeline", "graph", "io", "events", "log", "files", "about"] as const;
export type Tab = (typeof tabs)[number];

export const factTypes = ["started", "ended", "failed"] as const;
export type FactType = (typeof factTypes)[number];

export interface Address {
  /** Missing: the timeline. */
  tab?: Tab;
  /** Reference of the task that is selected. */
  task?: string;
  /** Number of the run of it that is selected. */
  seq?: string;
  /** Which pass of the loop around the task is shown, from 0. */
  pass?: string;
  show?: "failed" | "active";
  /** The part of the time that the timeline shows, as `readZoom` takes it. Missing: everything. */
  zoom?: string;
  /** How the timeline shows time in which nothing runs. Missing: shortened. */
  idle?: "even";
  /** The execution that this one is compared with. */
  with?: string;
  /** Which facts are shown of the events. */
  type?: FactType;
  /** How the graph is shown. Missing: as an outline where there is little room. */
  view?: "picture" | "outline";
}

const number = (value: unknown) => (typeof value === "string" && /^\d{1,9}$/.test(value) ? value : undefined);

export function readAddress(search: Record<string, unknown>): Address {
  const tab = tabs.find((known) => known === search["tab"]);
  const task = typeof search["task"] === "string" && search["task"].startsWith("/") ? search["task"] : undefined;
  const [seq, pass] = [number(search["seq"]), number(search["pass"])];
  const show = (["failed", "active"] as const).find((known) => known === search["show"]);
  const zoom =
    typeof search["zoom"] === "string" && /^\d{1,15}-(\d{1,15})?$/.test(search["zoom"]) ? search["zoom"] : undefined;
  const other =
    typeof search["with"] === "string" && /^[\da-f-]{36}$/.test(search["with"]) ? search["with"] : undefined;
  const type = factTypes.find((known) => known === search["type"]);
  const view = (["picture", "outline"] as const).find((known) => known === search["view"]);
  return {
    ...(tab !== undefined && tab !== "timeline" && { tab }),
    ...(task !== undefined && { task }),
    ...(seq !== undefined && { seq }),
    ...(pass !== undefined && { pass }),
    ...(show !== undefined && { show }),
    ...(zoom !== undefined && { zoom }),
    ...(search["idle"] === "even" && { idle: "even" }),
    ...(other !== undefined && { with: other }),
    ...(type !== undefined && { type }),
    ...(view !== undefined && { view }),
  };
}

/** Changes some of the address; undefined takes a part away. */
export type Go = (change: { [Key in keyof Address]?: Address[Key] | undefined }) => void;
