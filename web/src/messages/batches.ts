import { screenTexts } from "./index.ts";
import { batches } from "./batches.en.ts";

export const batchesTexts = screenTexts(batches, async () => (await import("./batches.de.ts")).batches);
