import { screenTexts } from "./index.ts";
import { shell } from "./shell.en.ts";

export const shellTexts = screenTexts(shell, async () => (await import("./shell.de.ts")).shell);
