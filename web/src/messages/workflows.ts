import { screenTexts } from "./index.ts";
import { form, workflow, workflows } from "./workflows.en.ts";

const german = () => import("./workflows.de.ts");

export const workflowsTexts = screenTexts(workflows, async () => (await german()).workflows);
export const workflowTexts = screenTexts(workflow, async () => (await german()).workflow);
export const formTexts = screenTexts(form, async () => (await german()).form);
