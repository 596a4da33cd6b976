import { files } from "./files.en.ts";
import { screenTexts } from "./index.ts";

export const filesTexts = screenTexts(files, async () => (await import("./files.de.ts")).files);
