import { screenTexts } from "./index.ts";
import { conflict } from "./conflict.en.ts";

export const conflictTexts = screenTexts(conflict, async () => (await import("./conflict.de.ts")).conflict);
