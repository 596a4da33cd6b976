import { keepPreviousData } from "@tanstack/react-query";
import { client, type Schemas } from "./client.ts";
import { every, question } from "./query.ts";

export type Overview = Schemas["Overview"];
export type Bucket = Schemas["OverviewBucket"];
export type WorkflowTotal = Schemas["OverviewWorkflow"];
export type FailureGroup = Schemas["FailureGroup"];

/** The times that an overview can be of, and how long a bucket of each is. */
export const spans = {
  "24h": { hours: 24, step: "1h" },
  "7d": { hours: 168, step: "6h" },
  "30d": { hours: 720, step: "1d" },
};
export type Span = keyof typeof spans;

/** Executions by the hour or day up to now. Another time keeps the old one until its answer is there. */
export const overviewQuestion = (span: Span) => ({
  ...question(["overview", span], (signal) => {
    const { hours, step } = spans[span];
    const from = new Date(Date.now() - hours * 3_600_000).toISOString();
    return client.GET("/overview", { params: { query: { from, step } }, signal });
  }),
  refetchInterval: every(10_000),
  placeholderData: keepPreviousData,
});
