import { exported } from "./export.en.ts";
import { screenTexts } from "./index.ts";

export const exportTexts = screenTexts(exported, async () => (await import("./export.de.ts")).exported);
