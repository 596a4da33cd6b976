import type { Execution } from "../../api/executions.ts";
import { causes, keys, waits, type Key } from "../filter.ts";
import { states } from "../state.ts";

/** Values that are known of a key, beside those that it always has. */
export type Known = Partial<Record<Key, readonly string[]>>;

/** A text that may replace what is typed. */
export interface Suggestion {
  /** The whole term, with its key. */
  term: string;
  /** Another part follows: the value of a key, or of a label. */
  open: boolean;
}

const always: Known = {
  state: states,
  cause: causes,
  waiting: waits,
  from: ["-1h", "-24h", "-7d", "-30d"],
  to: ["-1h", "-24h", "-7d"],
  longer: ["1s", "10s", "1m", "10m", "1h"],
};

const most = 8;
const quoted = (value: string): string => (/\s/.test(value) ? `"${value}"` : value);

/** The term that the caret is in, and where it is in the text. */
export function termAt(text: string, caret: number): { from: number; to: number; typed: string } {
  let from = 0;
  let inQuotes = false;
  for (let i = 0; i < caret; i++) {
    if (text[i] === '"') {
      inQuotes = !inQuotes;
    } else if (text[i] === " " && !inQuotes) {
      from = i + 1;
    }
  }
  const length = text.slice(caret).search(/\s/);
  return { from, to: length < 0 ? text.length : caret + length, typed: text.slice(from, caret) };
}

/** What may be meant by a term that is being typed: keys, then values of its key. */
export function suggest(typed: string, known: Known): Suggestion[] {
  const colon = typed.indexOf(":");
  if (colon < 0) {
    const fitting = keys.filter((key) => key.startsWith(typed.toLowerCase()));
    return (typed === "" ? keys : fitting).map((key) => ({ term: `${key}:`, open: true }));
  }
  const key = keys.find((one) => one === typed.slice(0, colon).toLowerCase());
  if (key === undefined) {
    return [];
  }
  const wanted = typed
    .slice(colon + 1)
    .replaceAll('"', "")
    .toLowerCase();
  return [...new Set([...(always[key] ?? []), ...(known[key] ?? [])])]
    .filter((value) => value.toLowerCase().includes(wanted) && value.toLowerCase() !== wanted)
    .toSorted((a, b) => Number(b.toLowerCase().startsWith(wanted)) - Number(a.toLowerCase().startsWith(wanted)))
    .slice(0, most)
    .map((value) => ({ term: `${key}:${quoted(value)}`, open: false }));
}

/** The text with a suggestion in the place of the term at the caret, and where the caret is then. */
export function complete(text: string, caret: number, { term, open }: Suggestion): { text: string; caret: number } {
  const { from, to } = termAt(text, caret);
  const rest = text.slice(to).trimStart();
  const before = text.slice(0, from) + term + (open ? "" : " ");
  return { text: before + (rest === "" || !open ? rest : ` ${rest}`), caret: before.length };
}

const unique = (values: readonly (string | undefined)[]) => [...new Set(values.filter((value) => value !== undefined))];

/** Values of keys that executions of a list have. */
export function knownOf(rows: readonly Execution[]): Known {
  return {
    workflow: unique(rows.map((row) => row.workflow)),
    version: unique(rows.map((row) => row.workflow_version)),
    error: unique(rows.map((row) => row.error?.code)),
    batch: unique(rows.map((row) => row.batch_id)),
    label: unique(rows.flatMap((row) => Object.entries(row.labels ?? {}).map(([name, value]) => `${name}=${value}`))),
  };
}
