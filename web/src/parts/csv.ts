/** What a cell of a table can hold; undefined is nothing. */
export type Cell = string | number | boolean | undefined;

/** What a spreadsheet would take for a formula begins with one of these. */
const formula = /^[=+\-@\t\r]/u;

/** A cell of a table with commas. Text stays text in a spreadsheet: what looks like a formula gets an apostrophe. */
function written(cell: Cell): string {
  const text = String(cell ?? "");
  const safe = typeof cell === "string" && formula.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Lines of a table with commas (RFC 4180). */
export const csvLines = (lines: readonly (readonly Cell[])[]): string =>
  lines.map((line) => `${line.map(written).join(",")}\r\n`).join("");

/** Values as JSON Lines, one on each. */
export const jsonLines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join("");
