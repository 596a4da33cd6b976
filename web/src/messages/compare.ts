import { screenTexts } from "./index.ts";
import { compare } from "./compare.en.ts";

export const compareTexts = screenTexts(compare, async () => (await import("./compare.de.ts")).compare);
