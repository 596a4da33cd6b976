import { overview as de } from "./overview.de.ts";
import { overview as en } from "./overview.en.ts";
import { currentLanguage } from "./index.ts";

/** Texts that only screens with them load, in the language of the person. */
export const overviewTexts = (): typeof en => (currentLanguage() === "de" ? de : en);
