import { screenTexts } from "./index.ts";
import { taskName } from "./taskname.en.ts";

export const taskNameTexts = screenTexts(taskName, async () => (await import("./taskname.de.ts")).taskName);
