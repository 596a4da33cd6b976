/** What a table shows of a long text: so many rows, columns and cells at most. */
const most = { rows: 1000, columns: 100, cells: 20_000 };

export interface Separated {
  /** The first line: the names of the columns. */
  names: string[];
  rows: string[][];
  /** There are rows or columns that are left out. */
  cut: boolean;
}

/**
 * The beginning of a text with commas or tabs between its values (RFC 4180), as a table. Partial says that the text is
 * cut off somewhere: its last line is left out unless it has its end. Undefined: there is no line.
 */
export function readSeparated(text: string, separator: "," | "\t", partial: boolean): Separated | undefined {
  const lines = linesOf(text.replace(/^\uFEFF/u, ""), separator, partial);
  const names = lines.next().value;
  if (names === undefined) {
    return undefined;
  }
  const room = Math.min(most.rows, Math.floor(most.cells / Math.min(most.columns, Math.max(1, names.length))));
  let cut = partial || names.length > most.columns;
  const rows: string[][] = [];
  for (const line of lines) {
    if (rows.length === room) {
      cut = true;
      break;
    }
    cut ||= line.length > most.columns;
    rows.push(line.slice(0, most.columns));
  }
  return { names: names.slice(0, most.columns), rows, cut };
}

/**
 * The lines of a text, each with its values. A value in quotes may hold separators, line breaks and doubled quotes; one
 * with other quotes is shown as it is.
 */
function* linesOf(text: string, separator: string, partial: boolean): Generator<string[], undefined> {
  const pattern = `(?:"([^"]*(?:""[^"]*)*)"|([^${separator}\\r\\n]*))(${separator}|\\r?\\n|\\r|$)`;
  let line: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(new RegExp(pattern, "uyg"))) {
    line.push(quoted?.replaceAll('""', '"') ?? plain ?? "");
    if (end === separator) {
      continue;
    }
    if (!(partial && end === "") && (line.length > 1 || line[0] !== "")) {
      yield line;
    }
    line = [];
  }
  return undefined;
}
