import { audit } from "./audit.en.ts";
import { screenTexts } from "./index.ts";

export const auditTexts = screenTexts(audit, async () => (await import("./audit.de.ts")).audit);
