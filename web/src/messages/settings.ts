import { screenTexts } from "./index.ts";
import { settings } from "./settings.en.ts";

export const settingsTexts = screenTexts(settings, async () => (await import("./settings.de.ts")).settings);
