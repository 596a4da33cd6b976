import { answer, client, type Schemas } from "./client.ts";

export type Tested = Schemas["TestedWorkflow"];
export type TestResult = Schemas["TestResult"];
export type CoveredTask = Schemas["CoveredTask"];

/** What comes of tests of a definition. Stores nothing. */
export const runTests = (definition: string, tests: string, signal: AbortSignal): Promise<Tested> =>
  answer(client.POST("/workflows/test", { body: { definition, tests }, signal }));

/** What tests have run of the definition itself, by the pointers of its tasks. */
export function coverageOf({ coverage }: Tested): ReadonlyMap<string, CoveredTask> {
  const own = coverage.definitions.find((each) => each.file === "definition");
  return new Map(own?.tasks.map((task) => [task.reference, task]));
}
