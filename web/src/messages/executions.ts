import { screenTexts } from "./index.ts";
import { executions } from "./executions.en.ts";

export const executionsTexts = screenTexts(executions, async () => (await import("./executions.de.ts")).executions);
