import { screenTexts } from "./index.ts";
import { people } from "./people.en.ts";

export const peopleTexts = screenTexts(people, async () => (await import("./people.de.ts")).people);
