import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { putListSettings } from "../../api/views.ts";
import { executionsTexts } from "../../messages/executions.ts";
import { Menu } from "../Menu.tsx";
import { Failure } from "../Notice.tsx";
import { chosenColumns, columns, fixed, toggled, type Column } from "./columns.ts";
import { columnName } from "./names.ts";

/** Which columns the list has. The choice is the person's, on every machine. */
export function Columns({ chosen }: { chosen: readonly Column[] }) {
  const texts = executionsTexts();
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
                disabled={fixed.includes(column)}
                onChange={() => pick(toggled(shown, column))}
              />
              {columnName(column)}
            </label>
          ))}
          <Button variant="subtle" onClick={() => pick([])}>
            {texts.usualColumns}
          </Button>
          {put.error && <Failure error={put.error} />}
        </>
      )}
    </Menu>
  );
}
