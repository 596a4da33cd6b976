import { screenTexts } from "./index.ts";
import { apiKeys } from "./keys.en.ts";

export const apiKeysTexts = screenTexts(apiKeys, async () => (await import("./keys.de.ts")).apiKeys);
