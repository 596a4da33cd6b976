import { localStorageColorSchemeManager, type MantineColorScheme, type MantineColorSchemeManager } from "@mantine/core";

const kept = localStorageColorSchemeManager({ key: "chargehand-colours" });

/** Tells the tokens what the person has chosen. Without that, they follow the system. */
function show(scheme: MantineColorScheme): MantineColorScheme {
  if (scheme === "auto") {
    delete document.documentElement.dataset["scheme"];
  } else {
    document.documentElement.dataset["scheme"] = scheme;
  }
  return scheme;
}

let update: (scheme: MantineColorScheme) => void = () => {};

/** The colours that were chosen in this browser. */
export const schemes: MantineColorSchemeManager = {
  ...kept,
  get: (otherwise) => show(kept.get(otherwise)),
  set: (scheme) => kept.set(show(scheme)),
  subscribe(onUpdate) {
    update = onUpdate;
    kept.subscribe((scheme) => onUpdate(show(scheme)));
  },
};

/** Shows the page in other colours. */
export function setScheme(scheme: MantineColorScheme): void {
  if (kept.get("auto") !== scheme) {
    schemes.set(scheme);
    update(scheme);
  }
}
