import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { userStatuses, type UserFilter } from "../../api/people.ts";
import { t } from "../../messages/index.ts";
import { peopleTexts } from "../../messages/people.ts";

/** The filter of the list of users. Another filter is another bar (key). */
export function UserFilterBar({ filter, apply }: { filter: UserFilter; apply: (filter: UserFilter) => void }) {
  const texts = peopleTexts();
  const [text, setText] = useState(filter.q ?? "");
  const send = (status: UserFilter["status"]) => {
    const q = text.trim();
    apply({ ...(q !== "" && { q }), ...(status !== undefined && { status }) });
  };
  return (
    <search>
      <form
        className="filters"
        onSubmit={(event) => {
          event.preventDefault();
          send(filter.status);
        }}
      >
        <TextInput
          className="text"
          data-search
          label={texts.search}
          placeholder={texts.searchHelp}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <NativeSelect
          label={texts.status}
          value={filter.status ?? ""}
          onChange={(event) => send(userStatuses.find((name) => name === event.currentTarget.value))}
          data={[
            { value: "", label: texts.anyStatus },
            ...userStatuses.map((name) => ({ value: name, label: texts.statuses[name] })),
          ]}
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
