import { batches as de } from "./batches.de.ts";
import { batches as en } from "./batches.en.ts";
import { currentLanguage } from "./index.ts";

/** Texts that only screens with them load, in the language of the person. */
export const batchesTexts = (): typeof en => (currentLanguage() === "de" ? de : en);
