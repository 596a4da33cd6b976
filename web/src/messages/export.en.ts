import { formatNumber, plural } from "./format.ts";

const executions = (n: number) => plural(n, "execution", "executions");

/** Texts of saving a list as a file. */
export const exported = {
  title: "Export executions",
  help: (most: number) =>
    `All that match the filter, newest first, up to ${formatNumber(most)}. Inputs are in JSON Lines alone, outputs in neither.`,
  format: "Format",
  formats: { csv: "CSV: a table for spreadsheets", jsonl: "JSON Lines: as the API answers them" },
  start: "Export",
  reading: (n: number) => `${executions(n)} read`,
  saved: (n: number) => `${executions(n)} saved.`,
  cut: (most: number) =>
    `There are older ones. An export has ${formatNumber(most)} at most: narrow the filter by time to save those too.`,
  none: "No executions match, so that no file was saved.",
};
