import { answer, client, type Schemas } from "./client.ts";
import { meQuestion, stillOf } from "./me.ts";
import { queries, question } from "./query.ts";

/** What the person has set in the web UI. The server keeps it and does not read it. What is left out is as usual. */
export interface Settings {
  theme?: "auto" | "light" | "dark" | undefined;
  /** Name of the time zone that times are shown in; left out: that of the browser. */
  timeZone?: string | undefined;
  /** Keys without Ctrl do nothing. */
  keys?: "on" | "off" | undefined;
  rows?: "dense" | "comfortable" | undefined;
}

/** The settings, with what other parts of the UI keep there. */
export const settingsQuestion = () => ({
  ...question(["settings"], (signal) => client.GET("/me/settings", { signal })),
  queryKey: ["settings"], // the same in both environments
  staleTime: 60_000,
});

let last: Promise<unknown> = Promise.resolve();

/** One after the other, so that two changes do not undo each other. */
function inTurn<T>(act: () => Promise<T>): Promise<T> {
  const next = last.then(act, act);
  last = next.catch(() => undefined);
  return next;
}

/** Changes some settings, and leaves the others as they are on the server by now. */
export const putSettings = (change: Settings): Promise<void> =>
  inTurn(async () => {
    const kept = await answer(client.GET("/me/settings"));
    const saved = await answer(client.PUT("/me/settings", { body: { ...kept, ...change } }));
    queries.setQueryData(settingsQuestion().queryKey, saved);
  });

/** Changes the name or the language of the person. */
export const patchMe = (body: Schemas["PatchMeBody"]): Promise<void> =>
  inTurn(async () => {
    queries.setQueryData(meQuestion().queryKey, await stillOf(await answer(client.PATCH("/me", { body }))));
  });
