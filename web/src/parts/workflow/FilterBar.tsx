import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { environment } from "../../api/environment.ts";
import type { WorkflowFilter } from "../../api/workflows.ts";
import { t } from "../../messages/index.ts";
import { workflowsTexts } from "../../messages/workflows.ts";

const fields = ["q", "namespace", "tag"] as const;

/** The filter of the list of workflows. Another filter is another bar (key). */
export function WorkflowFilterBar({
  filter,
  apply,
}: {
  filter: WorkflowFilter;
  apply: (filter: WorkflowFilter) => void;
}) {
  const texts = workflowsTexts();
  const [typed, setTyped] = useState(() => ({
    q: filter.q ?? "",
    namespace: filter.namespace ?? "",
    tag: filter.tag ?? "",
  }));
  // What the server does when the filter does not say.
  const usual = environment() === "test" ? "true" : "false";
  const send = (drafts: WorkflowFilter["drafts"]) => {
    const next: WorkflowFilter = drafts === undefined ? {} : { drafts };
    for (const field of fields) {
      const value = typed[field].trim();
      if (value !== "") {
        next[field] = value;
      }
    }
    apply(next);
  };
  const text = (field: (typeof fields)[number]) => ({
    value: typed[field],
    spellCheck: false,
    onChange: (event: { currentTarget: { value: string } }) =>
      setTyped({ ...typed, [field]: event.currentTarget.value }),
  });
  return (
    <search>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault();
          send(filter.drafts);
        }}
      >
        <TextInput className="text" data-search label={texts.text} placeholder={texts.textHelp} {...text("q")} />
        <TextInput label={texts.namespace} {...text("namespace")} />
        <TextInput label={texts.tag} {...text("tag")} />
        <NativeSelect
          label={texts.drafts}
          value={filter.drafts ?? usual}
          onChange={(event) => {
            const value = event.currentTarget.value === "true" ? "true" : "false";
            send(value === usual ? undefined : value);
          }}
          data={(["false", "true"] as const).map((value) => ({ value, label: texts.draftChoices[value] }))}
        />
        <Button type="submit" variant="default">
          {t().list.apply}
        </Button>
        {Object.keys(filter).length > 0 && (
          <Button variant="subtle" onClick={() => apply({})}>
            {t().list.clear}
          </Button>
        )}
      </form>
    </search>
  );
}
