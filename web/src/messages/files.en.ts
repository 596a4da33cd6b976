import { plural } from "./format.ts";

/** Texts of files that are shown in the page. */
export const files = {
  text: (name: string) => `Content of ${name}`,
  rows: (n: number) => `${plural(n, "row", "rows")}.`,
  cut: "Only the first part is shown.",
  noPreview: "There is no preview of files of this kind.",
  broken: "It cannot be shown.",
};
