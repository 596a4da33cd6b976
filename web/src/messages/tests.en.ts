import { formatNumber, plural } from "./format.ts";

/** Texts of the tests beside a definition. */
export const tests = {
  label: "Tests",
  run: "Run the tests",
  upload: "Open a test file",
  download: "Download the tests",
  keys: "Ctrl Enter in the tests runs them. Nothing is called and nothing is stored: mocks answer, and the clock is virtual.",
  leave: "Escape, then Tab leaves the tests.",
  kept: "This browser keeps the tests. Download them, and keep them beside the definition.",
  noRoom: "This browser has no room to keep the tests. Download them before you leave.",
  results: "Results",
  none: "The tests have not run yet.",
  stale: "The definition or the tests have changed since.",
  summary: (all: number, failed: number, broken: number, skipped: number) =>
    [
      plural(all, "test", "tests"),
      ...(failed > 0 ? [`${formatNumber(failed)} failed`] : []),
      ...(broken > 0 ? [`${formatNumber(broken)} could not be run to an end`] : []),
      ...(skipped > 0 ? [`${formatNumber(skipped)} skipped`] : []),
      ...(failed + broken + skipped === 0 ? ["all passed"] : []),
    ].join(", "),
  covered: (tasks: number, all: number, branches: number, allBranches: number) =>
    `They ran ${formatNumber(tasks)} of ${plural(all, "task", "tasks")}, and took ${formatNumber(branches)} of ${plural(allBranches, "way", "ways")}.`,
  status: { passed: "Passed", failed: "Failed", error: "Not run to an end", skipped: "Skipped" },
  after: (time: string) => `after ${time} of virtual time`,
  place: (line: number) => `Line ${formatNumber(line)}:`,
  want: "Expected",
  got: "Came",
  nothing: "nothing",
  paste: "A mock to paste into the test:",
  mock: "Mock",
  warning: "Warning",
  missing: "Not run by any test",
  missingWay: (way: string, task: string) => `${way} of ${task}`,
  cut: "What was too large is left out.",
};
