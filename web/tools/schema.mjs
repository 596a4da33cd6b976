// Writes src/api/schema.d.ts, the types of the API, from api/openapi.yaml. Answers with an error are left out, because
// api/problem.ts reads them all; and so is prose, which would change the file more often than the types do.
import { readFile, writeFile } from "node:fs/promises";
import yaml from "js-yaml";
import openapiTS, { astToString } from "openapi-typescript";

const document = yaml.load(await readFile(new URL("../../api/openapi.yaml", import.meta.url), "utf8"));
for (const path of Object.values(document.paths)) {
  for (const operation of Object.values(path)) {
    if (!operation?.responses) continue;
    for (const [status, answer] of Object.entries(operation.responses)) {
      if (status >= "400" || status === "default") delete operation.responses[status];
      else delete answer.headers;
    }
    operation.parameters = operation.parameters?.filter((p) => p.in !== "header" || p.name === "Idempotency-Key");
  }
}
/** Takes the prose out of schemas; a property may have the name of such a field. */
function strip(node, names = false) {
  if (node === null || typeof node !== "object") return;
  for (const [key, value] of Object.entries(node)) {
    if (!names && typeof value === "string" && ["description", "summary", "title"].includes(key)) delete node[key];
    else if (!names && ["example", "examples"].includes(key)) delete node[key];
    else strip(value, key === "properties");
  }
}
strip(document.paths, true);
strip(document.components);
delete document.components.examples;
delete document.components.responses;
delete document.components.headers;
const types = await openapiTS(document, { defaultNonNullable: false, exportType: true });
const text = `// Written by \`make generate\` from api/openapi.yaml.\n${astToString(types)}`;
const target = new URL("../src/api/schema.d.ts", import.meta.url);
if (process.argv.includes("--check")) {
  if ((await readFile(target, "utf8")) !== text) {
    console.error("web/src/api/schema.d.ts is not what api/openapi.yaml says: run make generate and commit");
    process.exitCode = 1;
  }
} else {
  await writeFile(target, text);
}
