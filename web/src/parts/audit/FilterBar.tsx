import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { auditFields, type AuditFilter } from "../../api/audit.ts";
import { t } from "../../messages/index.ts";
import { auditTexts } from "../../messages/audit.ts";
import { fromClock } from "../../messages/zone.ts";
import { fieldTime } from "./address.ts";

/** The filter of the audit log. Another filter is another bar (key). */
export function AuditFilterBar({ filter, apply }: { filter: AuditFilter; apply: (filter: AuditFilter) => void }) {
  const texts = auditTexts();
  const [typed, setTyped] = useState({
    actor: filter.actor ?? "",
    target: filter.target ?? "",
    after: fieldTime(filter.after),
    before: fieldTime(filter.before),
  });
  const send = (action: string) => {
    const next: AuditFilter = action === "" ? {} : { action };
    for (const name of ["actor", "target"] as const) {
      const value = typed[name].trim();
      if (value !== "") {
        next[name] = value;
      }
    }
    for (const name of ["after", "before"] as const) {
      // A time that has not been changed stays as exact as the address has it.
      const kept = filter[name];
      const same = typed[name] !== "" && kept !== undefined && fieldTime(kept) === typed[name];
      const at = same ? new Date(kept) : fromClock(typed[name]);
      if (!Number.isNaN(at.getTime())) {
        next[name] = at.toISOString();
      }
    }
    apply(next);
  };
  const field = (name: keyof typeof typed) => ({
    label: texts.filters[name],
    value: typed[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setTyped({ ...typed, [name]: event.currentTarget.value }),
  });
  const known = Object.keys(texts.actions);
  const action = filter.action ?? "";
  return (
    <search>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault();
          send(action);
        }}
      >
        <TextInput className="text" data-search spellCheck={false} placeholder={texts.actorHelp} {...field("actor")} />
        <NativeSelect
          label={texts.filters.action}
          value={action}
          onChange={(event) => send(event.currentTarget.value)}
          data={[
            { value: "", label: texts.anyAction },
            ...(action === "" || known.includes(action) ? known : [action, ...known]).map((name) => ({
              value: name,
              label: texts.action(name),
            })),
          ]}
        />
        <TextInput className="text" spellCheck={false} placeholder={texts.targetHelp} {...field("target")} />
        <TextInput type="datetime-local" {...field("after")} />
        <TextInput type="datetime-local" {...field("before")} />
        <Button type="submit" variant="default">
          {t().list.apply}
        </Button>
        {auditFields.some((name) => filter[name] !== undefined) && (
          <Button variant="subtle" onClick={() => apply({})}>
            {t().list.clear}
          </Button>
        )}
      </form>
    </search>
  );
}
