import type { Base } from "../../api/definitions.ts";

/** What a new workflow begins with. It runs as it is, without a network. */
export const template: Base = {
  json: false,
  draft: true,
  text: `document:
  dsl: '1.0.3'
  namespace: default
  name: new-workflow
  version: '1.0.0'
input:
  schema:
    format: json
    document:
      type: object
      properties:
        name: { type: string, title: Name }
do:
  - greet:
      set:
        greeting: '\${ "Hello, \\(.name // "world")!" }'
`,
};
