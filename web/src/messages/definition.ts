import { screenTexts } from "./index.ts";
import { definition } from "./definition.en.ts";

export const definitionTexts = screenTexts(definition, async () => (await import("./definition.de.ts")).definition);
