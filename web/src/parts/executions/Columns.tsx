import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useLostSince } from "../../api/connection.ts";
import { putListSettings } from "../../api/views.ts";
import { executionsTexts } from "../../messages/executions.ts";
import { Action } from "../Action.tsx";
import { Menu } from "../Menu.tsx";
import { Failure } from "../Notice.tsx";
import { chosenColumns, columns, fixed, toggled, type Column } from "./columns.ts";
import { columnName } from "./names.ts";

/** Which columns the list has. The choice is the person's, on every machine. */
export function Columns({ chosen }: { chosen: readonly Column[] }) {
  const texts = executionsTexts();
  const lost = useLostSince() !== undefined;
  // What was pressed shows before the server has answered, and goes back if it refuses.
  const [picked, setPicked] = useState<readonly string[]>();
  const put = useMutation({
    mutationFn: (names: readonly string[]) => putListSettings({ executionColumns: [...names] }),
    onSettled: () => setPicked(undefined),
  });
  const shown = picked === undefined ? chosen : chosenColumns(picked);
  const pick = (names: readonly string[]) => {
    setPicked(names);
    put.mutate(names);
  };
  return (
    <Menu name={texts.chooseColumns}>
      {() => (
        <>
          {columns.map((column) => (
            <label key={column} className="check">
              <input
                type="checkbox"
                checked={shown.includes(column)}
                disabled={lost || fixed.includes(column)}
                onChange={() => pick(toggled(shown, column))}
              />
              {columnName(column)}
            </label>
          ))}
          <Action variant="subtle" onClick={() => pick([])}>
            {texts.usualColumns}
          </Action>
          {put.error && <Failure error={put.error} />}
        </>
      )}
    </Menu>
  );
}
