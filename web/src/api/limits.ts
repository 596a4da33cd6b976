import type { Schemas } from "./client.ts";
import { client } from "./client.ts";
import { every, question } from "./query.ts";

export type Limit = Schemas["Limit"];

/** All limits of the installation, with what is used of quotas in the environment of the page. */
export const limitsQuestion = () => ({
  ...question(["limits"], (signal) => client.GET("/limits", { signal })),
  refetchInterval: every(30_000),
});
