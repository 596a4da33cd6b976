import { useSyncExternalStore } from "react";
import { currentLanguage, onLanguage } from "./index.ts";
import { currentTimeZone } from "./zone.ts";

/** Changes when all texts and times are to be drawn anew. */
export const useWording = (): string =>
  useSyncExternalStore(onLanguage, () => `${currentLanguage()} ${currentTimeZone() ?? ""}`);
