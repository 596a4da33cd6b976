import { screenTexts } from "./index.ts";
import { secrets } from "./secrets.en.ts";

export const secretsTexts = screenTexts(secrets, async () => (await import("./secrets.de.ts")).secrets);
