import { screenTexts } from "./index.ts";
import { apiKeys, security, verify } from "./account.en.ts";

const german = () => import("./account.de.ts");

export const apiKeysTexts = screenTexts(apiKeys, async () => (await german()).apiKeys);
export const securityTexts = screenTexts(security, async () => (await german()).security);
export const verifyTexts = screenTexts(verify, async () => (await german()).verify);
