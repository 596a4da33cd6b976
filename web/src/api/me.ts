import { useSuspenseQuery } from "@tanstack/react-query";
import { client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { question } from "./query.ts";

export type Me = Schemas["Me"];

/** Who is signed in, and what they may do. */
export const meQuestion = () => ({
  ...question(["me"], (signal) => client.GET("/me", { signal })),
  queryKey: ["me"], // the same in both environments
  staleTime: 60_000,
});

export const useMe = (): Me => useSuspenseQuery(meQuestion()).data;

/** Whether the person may do something somewhere in the environment of the page. What is missing is not shown. */
export function useMay(): (scope: string) => boolean {
  const scopes = useMe().scopes[environment()];
  return (scope) => scopes.includes(scope);
}
