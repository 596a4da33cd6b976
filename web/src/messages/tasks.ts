import { screenTexts } from "./index.ts";
import { tasks } from "./tasks.en.ts";

export const tasksTexts = screenTexts(tasks, async () => (await import("./tasks.de.ts")).tasks);
