import { screenTexts } from "./index.ts";
import { security, verify } from "./account.en.ts";

const german = () => import("./account.de.ts");

export const securityTexts = screenTexts(security, async () => (await german()).security);
export const verifyTexts = screenTexts(verify, async () => (await german()).verify);
