import { formatList, formatNumber, plural } from "./format.ts";

const some = (names: readonly string[]) =>
  names.length > 10
    ? `${names.slice(0, 10).join(", ")} and ${formatNumber(names.length - 10)} more`
    : formatList(names);

/** Texts about another execution beside the one that is shown. */
export const compare = {
  name: "Comparison",
  with: "Compared with",
  took: (there: string, here: string) => `took ${there}, this one ${here}`,
  ofAnother: (workflow: string) => `It is of another workflow: ${workflow}.`,
  onlyHere: (names: readonly string[]) => `Only in this one: ${some(names)}.`,
  onlyThere: (names: readonly string[]) => `Only in the other one: ${some(names)}.`,
  fewer: (loop: string, n: number) =>
    `The other one has ${plural(n, "pass", "passes")} of ${loop}. The one that is shown here is not among them.`,
  cut: (names: readonly string[]) =>
    `Of the other one, only the first 500 runs of these tasks are drawn together: ${some(names)}.`,
};
