import type { Item } from "../../api/batches.ts";
import { csvLines, type Cell } from "../csv.ts";

const before: Record<string, (item: Item) => Cell> = {
  index: ({ index }) => index,
  item_id: (item) => item.item_id,
  execution_id: (item) => item.execution_id,
  status: ({ status }) => status,
  phase: ({ phase }) => phase,
  duration_ms: (item) => item.duration_ms,
};
const after: Record<string, (item: Item) => Cell> = {
  error_code: ({ error }) => error?.code,
  error_title: ({ error }) => error?.title,
  error_detail: ({ error }) => error?.detail,
};

/** A value of an input as a cell: text, numbers and truth values as they are, anything else as JSON. */
export function valueCell(value: unknown): Cell {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return value;
    default:
      return value === undefined || value === null ? undefined : JSON.stringify(value);
  }
}

/** The value of an item's input with a name. */
export const inputOf = (item: Item, name: string): unknown =>
  item.inputs && Object.hasOwn(item.inputs, name) ? item.inputs[name] : undefined;

/**
 * Items as a table: its line of names, which are those of the API, and its lines. Inputs are in a column for each field
 * that is given, or in one as JSON.
 */
export function itemTable(fields: readonly string[]) {
  const inputs: Record<string, (item: Item) => Cell> =
    fields.length === 0
      ? { inputs: (item) => valueCell(item.inputs) }
      : Object.fromEntries(fields.map((name) => [`inputs.${name}`, (item: Item) => valueCell(inputOf(item, name))]));
  const columns = Object.entries({ ...before, ...inputs, ...after });
  return {
    names: csvLines([columns.map(([name]) => name)]),
    lines: (items: readonly Item[]) => csvLines(items.map((item) => columns.map(([, column]) => column(item)))),
  };
}
