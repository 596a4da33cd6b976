import { screenTexts } from "./index.ts";
import { limits } from "./limits.en.ts";

export const limitsTexts = screenTexts(limits, async () => (await import("./limits.de.ts")).limits);
