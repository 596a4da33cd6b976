import { screenTexts } from "./index.ts";
import { tests } from "./tests.en.ts";

export const testsTexts = screenTexts(tests, async () => (await import("./tests.de.ts")).tests);
