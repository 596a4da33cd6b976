interface Row {
  id: string;
}

/** What has become of a list since it was asked for. */
export interface Difference {
  /** How many rows are new. */
  newer: number;
  /** Rows that are not in it any more. */
  gone: ReadonlySet<string>;
}

/**
 * Compares the rows of a list with its first page as it is now. Rows behind the last one that both have may be on later
 * pages: nothing is said of them, unless there is no later page.
 */
export function differ(rows: readonly Row[], fresh: readonly Row[], last: boolean): Difference {
  const now = new Set(fresh.map((row) => row.id));
  const known = new Set(rows.map((row) => row.id));
  const end = last ? rows.length : rows.findLastIndex((row) => now.has(row.id)) + 1;
  const gone = rows.slice(0, end).filter((row) => !now.has(row.id));
  return { newer: fresh.filter((row) => !known.has(row.id)).length, gone: new Set(gone.map((row) => row.id)) };
}

/** The row that a person comes to from another one: the next one that is still there, else the one before. */
export function after<T extends Row>(rows: readonly T[], id: string, there: (row: T) => boolean): T | undefined {
  const at = rows.findIndex((row) => row.id === id);
  return rows.find((row, i) => i > at && there(row)) ?? rows.findLast((row, i) => i < at && there(row));
}
