import type { Secret } from "../../api/secrets.ts";
import { formatList } from "../../messages/format.ts";
import { secretsTexts } from "../../messages/secrets.ts";

/** Which workflows may declare a secret, in words. */
export function limitsOf({ workflows = [], namespaces = [] }: Secret): string {
  const texts = secretsTexts();
  const parts = [
    ...(workflows.length > 0 ? [texts.workflowCount(workflows.length)] : []),
    ...namespaces.map((name) => `${name}/*`),
  ];
  return parts.length === 0 ? texts.everything : formatList(parts);
}
