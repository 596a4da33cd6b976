import { screenTexts } from "./index.ts";
import { overview } from "./overview.en.ts";

export const overviewTexts = screenTexts(overview, async () => (await import("./overview.de.ts")).overview);
