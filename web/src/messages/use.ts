import { useSyncExternalStore } from "react";
import { currentLanguage, onLanguage, type Language } from "./index.ts";

export const useLanguage = (): Language => useSyncExternalStore(onLanguage, currentLanguage);
