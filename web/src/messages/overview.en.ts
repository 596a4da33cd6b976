import { formatNumber, plural } from "./format.ts";

/** Texts of the overview. */
export const overview = {
  title: "Overview",
  span: "Time",
  spans: { "24h": "24 h", "7d": "7 days", "30d": "30 days" },
  asOf: (at: string) => `As of ${at}`,
  needs: "Needs you",
  nothing: "Nothing needs you.",
  people: (n: string, one: boolean) => (one ? "1 execution needs a person" : `${n} executions need a person`),
  failed: (n: number) => plural(n, "failure", "failures"),
  allFailed: "All failures",
  example: "Example",
  exampleOf: (name: string) => `Example: ${name}`,
  last: "last",
  ended: "Ended in this time",
  p95: (time: string) => `95 of 100 took at most ${time}.`,
  chart: "Executions by time",
  chartHelp: "A bar is what ended in its time. It leads to what was created then.",
  bar: (time: string, finished: number, error: number, cancelled: number) =>
    `${time}: ${formatNumber(finished)} finished, ${formatNumber(error)} in error, ${formatNumber(cancelled)} cancelled`,
  most: (n: string) => `The tallest bar stands for ${n}.`,
  table: "As a table",
  time: "Time",
  started: "created",
  now: "Now",
  delayed: "start later",
  oldest: "The oldest was created",
  batches: "Batches running",
  noBatches: "No batch is running.",
  empty: "No workflow has run in this time.",
};
