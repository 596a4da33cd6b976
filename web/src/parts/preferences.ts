import { useSyncExternalStore } from "react";
import { meQuestion, type Me } from "../api/me.ts";
import { queries } from "../api/query.ts";
import { patchMe, putSettings, settingsQuestion, type Settings } from "../api/settings.ts";
import { languages, pageLanguage, setLanguage, setTimeZone, type Language } from "../messages/index.ts";
import { setDensity } from "./density.ts";
import { switchKeys } from "./keys.ts";
import { setScheme } from "./scheme.ts";

const person = "chargehand-person";

/** Whose page this is. What others have typed in this window is gone then. */
function belongsTo(me: Me): void {
  const before = sessionStorage.getItem(person);
  if (before !== null && before !== me.user.id) {
    sessionStorage.clear();
  }
  sessionStorage.setItem(person, me.user.id);
}

/** The language of the UI for the language of a person, which may name a country too. */
const languageOf = (locale: string | undefined): Language | undefined =>
  languages.find((known) => locale?.split("-")[0]?.toLowerCase() === known);

/** Shows the page as the person has set it; the browser keeps that for the next time. */
async function show(settings: Settings): Promise<void> {
  setScheme(settings.theme ?? "auto");
  switchKeys(settings.keys !== "off");
  setDensity(settings.rows ?? "dense");
  await setTimeZone(settings.timeZone);
}

/** Takes over what the server knows of the person. Without an answer about the settings, those of the browser stay. */
export async function follow(me: Me, settings: Settings | undefined): Promise<void> {
  belongsTo(me);
  if (settings !== undefined) {
    await show(settings);
  }
  await setLanguage(languageOf(me.user.locale) ?? pageLanguage, true);
}

interface Unsaved {
  error: unknown;
  again: () => void;
}

let unsaved: Unsaved | undefined;
const listeners = new Set<() => void>();

function tell(next: Unsaved | undefined): void {
  unsaved = next;
  listeners.forEach((listener) => listener());
}

/** Why the last setting was not saved, if it was not. */
export const useUnsaved = (): Unsaved | undefined =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => unsaved,
  );

async function save(act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    tell(undefined);
    return true;
  } catch (error) {
    tell({ error, again: () => void save(act) });
    return false;
  }
}

/** Changes settings, here at once and on the server. It answers whether they are saved. */
export async function change(settings: Settings): Promise<boolean> {
  const { queryKey } = settingsQuestion();
  const next = { ...queries.getQueryData<Settings>(queryKey), ...settings };
  queries.setQueryData(queryKey, next as Record<string, unknown>);
  await show(next);
  return save(() => putSettings(settings));
}

/** Changes the language, here at once and on the server; null: that of the browser. */
export async function changeLanguage(language: Language | null): Promise<boolean> {
  const { queryKey } = meQuestion();
  queries.setQueryData(queryKey, (me) => {
    if (me === undefined) {
      return me;
    }
    const { locale: _, ...user } = me.user;
    return { ...me, user: language === null ? user : { ...user, locale: language } };
  });
  await setLanguage(language ?? pageLanguage, true);
  return save(() => patchMe({ locale: language }));
}
