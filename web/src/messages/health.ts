import { screenTexts } from "./index.ts";
import { health } from "./health.en.ts";

export const healthTexts = screenTexts(health, async () => (await import("./health.de.ts")).health);
