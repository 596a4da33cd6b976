import { Button } from "@mantine/core";
import { batchesTexts } from "../../messages/batches.ts";
import { Menu } from "../Menu.tsx";
import { mostFields } from "./fields.ts";

/** Which fields of the inputs have columns of their own. None: the input is one column. */
export function Fields({
  offered,
  shown,
  choose,
}: {
  offered: readonly string[];
  shown: readonly string[];
  choose: (names: readonly string[]) => void;
}) {
  const texts = batchesTexts();
  return (
    <Menu name={texts.fields}>
      {() => (
        <>
          <p className="meta">{texts.fieldsHelp(mostFields)}</p>
          {offered.map((name) => (
            <label key={name} className="check">
              <input
                type="checkbox"
                checked={shown.includes(name)}
                disabled={!shown.includes(name) && shown.length >= mostFields}
                onChange={() =>
                  choose(shown.includes(name) ? shown.filter((other) => other !== name) : [...shown, name])
                }
              />
              {name}
            </label>
          ))}
          <Button variant="subtle" onClick={() => choose([])}>
            {texts.noFields}
          </Button>
        </>
      )}
    </Menu>
  );
}
