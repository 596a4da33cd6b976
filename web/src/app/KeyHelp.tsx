import { Checkbox } from "@mantine/core";
import "@mantine/core/styles/Checkbox.css";
import { Fragment, useState } from "react";
import { useMay } from "../api/me.ts";
import { shellTexts } from "../messages/shell.ts";
import { Dialog } from "../parts/Dialog.tsx";
import { keysAreOn } from "../parts/keys.ts";
import { change } from "../parts/preferences.ts";
import { allSections } from "./sections.ts";

export default function KeyHelp({ close }: { close: () => void }) {
  const texts = shellTexts().keys;
  const may = useMay();
  const [on, setOn] = useState(keysAreOn);
  const everywhere: [string, string][] = [
    ["?", texts.help],
    ["Ctrl K", texts.palette],
    ...allSections
      .filter((section) => section.scopes.some(may))
      .map((section): [string, string] => [`g ${section.key}`, section.name()]),
    ["/", texts.search],
    ["Esc", texts.close],
  ];
  const lists: [string, string][] = [
    ["j k", texts.move],
    ["Enter", texts.open],
    ["x", texts.select],
    ["Shift X", texts.selectTo],
    ["r", texts.refresh],
    ["[ ]", texts.neighbours],
  ];
  const inbox: [string, string][] = [
    ["j k", texts.task.move],
    ["n", texts.task.next],
    ["c", texts.task.claim],
    ["u", texts.task.release],
    ["m", texts.task.comment],
    ["1 … 9", texts.task.decide],
    ["Esc", texts.task.leave],
  ];
  return (
    <Dialog title={texts.title} close={close}>
      <h3>{texts.everywhere}</h3>
      <KeyList rows={everywhere} />
      <h3>{texts.lists}</h3>
      <KeyList rows={lists} />
      {may("tasks:read") && (
        <>
          <h3>{texts.inbox}</h3>
          <KeyList rows={inbox} />
        </>
      )}
      <Checkbox
        checked={on}
        label={texts.off}
        description={texts.offHelp}
        onChange={(event) => {
          void change({ keys: event.currentTarget.checked ? "on" : "off" });
          setOn(event.currentTarget.checked);
        }}
      />
    </Dialog>
  );
}

function KeyList({ rows }: { rows: [string, string][] }) {
  return (
    <dl className="keys">
      {rows.map(([key, what]) => (
        <Fragment key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
