import type { Entry, Result, Task } from "../../api/detail.ts";

/** How many tasks the server is asked for at once. */
export const mostMakers = 100;

/** The tasks that may have made files: calls, and what runs programs. */
export const makers = (tasks: readonly Pick<Task, "kind" | "reference">[]): string[] =>
  tasks.filter(({ kind }) => kind === "call" || kind === "run").map(({ reference }) => reference);

type Run = Pick<Entry, "files">;

/** Which file a link leads to: links are signed anew each time, also those to the same file. */
export const idOf = (file: Pick<Result, "url">): string => new URL(file.url, "http://localhost").pathname;

/** The run that has made a file. */
export const maker = <T extends Run>(runs: readonly T[], file: Pick<Result, "url">): T | undefined =>
  runs.find((run) => run.files?.some((made) => idOf(made) === idOf(file)));

/** The files that runs have made, without those that are known. */
export function filesOf<T extends Run>(runs: readonly T[], known: readonly Pick<Result, "url">[]) {
  const left = new Set(known.map(idOf));
  return runs.flatMap((run) =>
    (run.files ?? []).filter((file) => !left.has(idOf(file))).map((file) => ({ file, run })),
  );
}
