import { ActionIcon, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { putListSettings, type View } from "../../api/views.ts";
import { executionsTexts } from "../../messages/executions.ts";
import { Action, useHeld } from "../Action.tsx";
import { Menu } from "../Menu.tsx";
import { Failure } from "../Notice.tsx";

/** What of the list is in its address. */
export type Search = Record<string, string>;

const path = "/executions";
const addressOf = (search: Search): string => {
  const query = new URLSearchParams(search).toString();
  return query === "" ? path : `${path}?${query}`;
};
const searchOf = ({ address }: View): Search => Object.fromEntries(new URLSearchParams(address.slice(path.length + 1)));
const isOfList = ({ address }: View): boolean => address === path || address.startsWith(`${path}?`);

/** Addresses of the list that the person has named: filter and grouping. */
export function Views({ views, search }: { views: readonly View[]; search: Search }) {
  const texts = executionsTexts();
  const [name, setName] = useState("");
  const put = useMutation({ mutationFn: (next: View[]) => putListSettings({ views: next }) });
  const held = useHeld();
  const own = views.filter(isOfList);
  return (
    <Menu name={texts.views}>
      {(close) => (
        <>
          {own.length === 0 && <p className="meta">{texts.noViews}</p>}
          <ul className="views">
            {own.map((view) => (
              <li key={view.name} className="row">
                <Link to={path} search={searchOf(view)} onClick={close}>
                  {view.name}
                </Link>
                <ActionIcon
                  variant="subtle"
                  size={24}
                  aria-label={texts.removeView(view.name)}
                  title={texts.removeView(view.name)}
                  onClick={() => put.mutate(views.filter((other) => other !== view))}
                  {...held}
                >
                  <IconX aria-hidden size={14} />
                </ActionIcon>
              </li>
            ))}
          </ul>
          <form
            className="form"
            onSubmit={(event) => {
              event.preventDefault();
              const view = { name: name.trim(), address: addressOf(search) };
              const others = views.filter((other) => !isOfList(other) || other.name !== view.name);
              put.mutate([...others, view], { onSuccess: () => setName("") });
            }}
          >
            <TextInput
              label={texts.viewName}
              description={texts.viewHelp}
              required
              withAsterisk={false}
              pattern=".*\S.*"
              value={name}
              maxLength={80}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <Action type="submit">{texts.saveView}</Action>
          </form>
          {put.error && <Failure error={put.error} />}
        </>
      )}
    </Menu>
  );
}
