import { phaseOf, states, type State } from "./state.ts";

/**
 * Filters of executions as text, as they are in the address: `state:error workflow:shop/order label:customer=42
 * from:-24h 0197a5c4`. A value with spaces is in quotes.
 */
export interface Term {
  /** undefined: plain text. */
  key?: string;
  value: string;
}

export const keys = [
  "state",
  "workflow",
  "version",
  "error",
  "cause",
  "waiting",
  "label",
  "batch",
  "root",
  "repeats",
  "failure",
  "from",
  "to",
  "longer",
] as const;
export type Key = (typeof keys)[number];

/** What is wrong with a term. */
export type Complaint = { kind: "key" | "value"; term: Term } | { kind: "person" };

export const causes = ["api", "batch", "schedule", "event", "parent", "retry"];
export const waits = ["person", "child", "event", "retry", "timer", "slot"];
const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const isKey = (text: string): text is Key => (keys as readonly string[]).includes(text);

export function parse(text: string): Term[] {
  const terms: Term[] = [];
  for (const [, key, quoted, plain] of text.matchAll(/(?:([a-z]+):)?(?:"([^"]*)"|(\S+))/gi)) {
    const value = quoted ?? plain ?? "";
    if (value !== "") {
      terms.push(key === undefined ? { value } : { key: key.toLowerCase(), value });
    }
  }
  return terms;
}

export function print(terms: readonly Term[]): string {
  return terms
    .map(({ key, value }) => {
      const shown = /\s|^$/.test(value) || (key === undefined && /^[a-z]+:/i.test(value)) ? `"${value}"` : value;
      return key === undefined ? shown : `${key}:${shown}`;
    })
    .join(" ");
}

const ofGroup: readonly (string | undefined)[] = ["state", "workflow", "error", "failure"];

/** The filter of the executions that have failed in the same way, among those of further terms. */
export function filterOf(group: { code: string; failure: string }, workflow: string, terms: readonly Term[]): string {
  return print([
    { key: "state", value: "error" },
    { key: "workflow", value: workflow },
    { key: "error", value: group.code },
    { key: "failure", value: group.failure },
    ...terms.filter((term) => !ofGroup.includes(term.key)),
  ]);
}

/** A time: ISO 8601, a day, or so long ago, such as -24h. */
export function parseTime(text: string, now: Date): Date | undefined {
  const ago = /^-(\d{1,6})([smhdw])$/.exec(text);
  if (ago) {
    return new Date(now.getTime() - Number(ago[1]) * (units[ago[2] ?? ""] ?? 0));
  }
  if (!/^\d{4}-\d\d-\d\d/.test(text)) {
    return undefined;
  }
  const at = new Date(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text);
  return Number.isNaN(at.getTime()) ? undefined : at;
}

function parseLength(text: string): number | undefined {
  const found = /^(\d{1,9})(ms|[smhd])$/.exec(text);
  if (!found) {
    return undefined;
  }
  return Number(found[1]) * (found[2] === "ms" ? 1 : (units[found[2] ?? ""] ?? 0));
}

/** Query parameters of the API, by name; what may be repeated has several. */
export type Query = Record<string, string[]>;

export const pattern = {
  workflow: /^[A-Za-z0-9-]{1,63}\/[A-Za-z0-9-]{1,63}$/,
  id: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
};

/** A parameter of the API and its value; undefined: the value of the term is wrong. */
type Asked = [string, string] | undefined;

const shaped =
  (name: string, shape: RegExp) =>
  (value: string): Asked =>
    shape.test(value) ? [name, value] : undefined;
const one =
  (name: string, words: readonly string[]) =>
  (value: string): Asked =>
    words.includes(value) ? [name, value] : undefined;
const time =
  (name: string) =>
  (value: string, now: Date): Asked => {
    const at = parseTime(value, now);
    return at && [name, at.toISOString()];
  };

/** What the terms ask the API for. */
const ask: Record<Key, (value: string, now: Date) => Asked> = {
  state(value) {
    if (value === "person") {
      return ["status", "human_in_the_loop"];
    }
    return states.includes(value as State) ? ["phase", phaseOf[value as Exclude<State, "person">]] : undefined;
  },
  // Of a deleted workflow, the id is all that finds its executions.
  workflow: (value) => (pattern.id.test(value) ? ["workflow_id", value] : shaped("workflow", pattern.workflow)(value)),
  batch: shaped("batch_id", pattern.id),
  root: shaped("root_id", pattern.id),
  repeats: shaped("retry_of", pattern.id),
  failure: (value) => ["failure", value],
  version: (value) => ["version", value],
  error: (value) => ["error_code", value],
  cause: one("cause", causes),
  waiting: one("waiting_for", waits),
  label(value) {
    const label = /^([^=:]+)[=:](.*)$/.exec(value);
    return label ? ["label", `${label[1]}:${label[2]}`] : undefined;
  },
  from: time("created_after"),
  to: time("created_before"),
  longer(value) {
    const length = parseLength(value);
    return length === undefined ? undefined : ["min_duration_ms", String(length)];
  },
};

/** The query of the API for a filter, and what is wrong with the filter. */
export function toQuery(terms: readonly Term[], now: Date): { query: Query; complaints: Complaint[] } {
  const query: Query = {};
  const complaints: Complaint[] = [];
  const texts = terms.filter((term) => term.key === undefined).map((term) => term.value);
  if (texts.length > 0) {
    query["q"] = [texts.join(" ")];
  }
  for (const term of terms) {
    if (term.key === undefined) {
      continue;
    }
    const asked = isKey(term.key) ? ask[term.key](term.value, now) : undefined;
    if (asked) {
      (query[asked[0]] ??= []).push(asked[1]);
    } else {
      complaints.push({ kind: isKey(term.key) ? "value" : "key", term });
    }
  }
  for (const once of [
    "created_after",
    "created_before",
    "batch_id",
    "root_id",
    "retry_of",
    "failure",
    "min_duration_ms",
  ]) {
    query[once]?.splice(0, query[once].length - 1); // the last one counts
  }
  if (query["status"] && query["phase"]) {
    complaints.push({ kind: "person" });
  }
  return { query, complaints };
}

/** What is wrong with a filter. */
export const complain = (terms: readonly Term[]): Complaint[] => toQuery(terms, new Date(0)).complaints;

/** The same filter with one term of a key, or none. */
export function withOnly(terms: readonly Term[], key: Key, value: string | undefined): Term[] {
  const rest = terms.filter((term) => term.key !== key);
  return value === undefined ? rest : [...rest, { key, value }];
}
