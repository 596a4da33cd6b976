import { queryOptions } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { every } from "./query.ts";

export type System = Schemas["System"];
export type Finding = Schemas["SystemFinding"];

/** The installation is the same in every environment, and the server tells of it in live only. */
const live = { headers: { "Chargehand-Environment": "live" } };

/** The state of the whole installation. The server reads it at most once in five seconds. */
export const systemQuestion = () =>
  queryOptions({
    queryKey: ["installation", "system"],
    queryFn: ({ signal }) => answer(client.GET("/system", { ...live, signal })),
    refetchInterval: every(10_000),
  });

/** Whether the server takes requests, and what it refuses although it does. */
export const readinessQuestion = () =>
  queryOptions({
    queryKey: ["installation", "readiness"],
    queryFn: ({ signal }) => answer(client.GET("/readyz", { ...live, signal })),
    refetchInterval: every(10_000),
  });
