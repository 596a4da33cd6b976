import { screenTexts } from "./index.ts";
import { operations } from "./operations.en.ts";

export const operationsTexts = screenTexts(operations, async () => (await import("./operations.de.ts")).operations);
