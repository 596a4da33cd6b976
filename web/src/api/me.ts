import { useSuspenseQuery } from "@tanstack/react-query";
import { answer, client, type Schemas } from "./client.ts";
import { environment } from "./environment.ts";
import { queries, question } from "./query.ts";
import { isLeaving, sessionBegan } from "./session.ts";

export type Me = Schemas["Me"];

let person: string | undefined;

/** Loads the page anew if it is of another person by now: what it has was answered to, or typed by, the one before. */
export async function stillOf(me: Me): Promise<Me> {
  if (person !== undefined && person !== me.user.id) {
    // The browser would ask whether to leave. The text of an editor is kept for its author.
    addEventListener("beforeunload", (event) => event.stopImmediatePropagation(), { capture: true });
    location.reload();
    await new Promise(() => {}); // the browser leaves
  }
  person = me.user.id;
  return me;
}

/** Who is signed in, and what they may do. */
export const meQuestion = () => ({
  ...question(["me"], async (signal) => ({ data: await stillOf(await answer(client.GET("/me", { signal }))) })),
  queryKey: ["me"], // the same in both environments
  staleTime: 60_000,
});

/** Asks whether there is a session. If there is none, the page says so. */
export async function lookForSession(): Promise<boolean> {
  if (isLeaving()) {
    return false;
  }
  try {
    await queries.fetchQuery({ ...meQuestion(), staleTime: 0 });
  } catch {
    return false;
  }
  sessionBegan();
  return true;
}

export const useMe = (): Me => useSuspenseQuery(meQuestion()).data;

/**
 * Whether the person may do something somewhere in the environment of the page; with `installation`, whether the server
 * shows them the state of the installation. What is missing is not shown.
 */
export function useMay(): (scope: string) => boolean {
  const { scopes, installation } = useMe();
  const here = scopes[environment()];
  return (scope) => (scope === "installation" ? installation : here.includes(scope));
}
