import { formatNumber, plural } from "./format.ts";

/** Texts of saving a list as a file. */
export const exported = {
  limit: (rows: number, megabytes: number) =>
    `A file has up to ${formatNumber(rows)} lines and about ${formatNumber(megabytes)} MB.`,
  format: "Format",
  formats: { csv: "CSV: a table for spreadsheets", jsonl: "JSON Lines: as the API answers them" },
  start: "Export",
  reading: (rows: string) => `${rows} read`,
  saved: (rows: string) => `${rows} saved.`,
  gone: (n: number) => `${plural(n, "is", "are")} no longer there.`,
  executions: {
    title: "Export executions",
    help: "All that match the filter, newest first. Inputs are in JSON Lines alone, outputs in neither.",
    helpSelected: (n: number) =>
      `The ${plural(n, "execution that is", "executions that are")} selected, newest first. Inputs are in JSON Lines alone, outputs in neither.`,
    count: (n: number) => plural(n, "execution", "executions"),
    cut: "There are older ones: narrow the filter by time to save those too.",
    none: "No executions match, so that no file was saved.",
    noneSelected: "None of them is there any more, so that no file was saved.",
  },
  items: {
    title: "Export items",
    help: "All items of the batch, in their order. Outputs are in neither format.",
    helpState: (state: string) =>
      `The items that are now in the state “${state}”, in their order. Outputs are in neither format.`,
    helpFields: (names: string) =>
      `Of the inputs, the table has the columns that are shown: ${names}. JSON Lines has all.`,
    count: (n: number) => plural(n, "item", "items"),
    cut: "There are others after them: download the items as JSON to have those too.",
    none: "No item is in this state, so that no file was saved.",
  },
};
