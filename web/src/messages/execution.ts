import { screenTexts } from "./index.ts";
import { execution } from "./execution.en.ts";

export const executionTexts = screenTexts(execution, async () => (await import("./execution.de.ts")).execution);
