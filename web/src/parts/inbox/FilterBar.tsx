import { Button, NativeSelect, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState } from "react";
import type { TaskFilter } from "../../api/tasks.ts";
import { t } from "../../messages/index.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { shortId } from "../Copy.tsx";
import { narrowed } from "./address.ts";

/** What the inbox is narrowed down to. Another filter is another bar (key). */
export function FilterBar({
  filter,
  workflows,
  apply,
}: {
  filter: TaskFilter;
  /** Names of those that the list has tasks of. */
  workflows: readonly string[];
  apply: (filter: TaskFilter) => void;
}) {
  const texts = tasksTexts();
  const [text, setText] = useState(filter.q ?? "");
  const { q: _, workflow, overdue, ...rest } = filter;
  const send = (next: { workflow?: string | undefined; overdue?: "true" | undefined }) => {
    const typed = text.trim();
    apply({
      ...rest,
      ...(typed !== "" && { q: typed }),
      ...(next.workflow !== undefined && { workflow: next.workflow }),
      ...(next.overdue !== undefined && { overdue: next.overdue }),
    });
  };
  const names = [...new Set([...(workflow === undefined ? [] : [workflow]), ...workflows])].toSorted();
  const within = (["batch", "execution"] as const).filter((key) => filter[key] !== undefined);
  return (
    <search>
      <form
        className="filters inbox-filters"
        aria-label={texts.filter}
        onSubmit={(event) => {
          event.preventDefault();
          send({ workflow, overdue });
        }}
      >
        <TextInput
          className="text"
          data-search
          label={texts.search}
          placeholder={texts.searchHelp}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <NativeSelect
          label={texts.workflow}
          value={workflow ?? ""}
          onChange={(event) => send({ workflow: event.currentTarget.value || undefined, overdue })}
          data={[{ value: "", label: texts.anyWorkflow }, ...names.map((name) => ({ value: name, label: name }))]}
        />
        {filter.view !== "done" && (
          <label className="check">
            <input
              type="checkbox"
              checked={overdue === "true"}
              onChange={(event) => send({ workflow, overdue: event.currentTarget.checked ? "true" : undefined })}
            />
            {texts.overdue}
          </label>
        )}
        <Button type="submit" variant="default">
          {t().list.apply}
        </Button>
        {narrowed(filter) && (
          <Button variant="subtle" onClick={() => apply(filter.view === undefined ? {} : { view: filter.view })}>
            {t().list.clear}
          </Button>
        )}
      </form>
      {within.length > 0 && (
        <ul className="chips">
          {within.map((key) => {
            const what = (key === "batch" ? texts.ofBatch : texts.ofExecution)(shortId(filter[key] ?? ""));
            const { [key]: _gone, ...others } = filter;
            return (
              <li key={key} className="chip">
                {what}
                <Button
                  variant="subtle"
                  size="compact-xs"
                  aria-label={texts.remove(what)}
                  onClick={() => apply(others)}
                >
                  <IconX aria-hidden size={12} />
                </Button>
              </li>
            );
          })}
        </ul>
      )}
    </search>
  );
}
