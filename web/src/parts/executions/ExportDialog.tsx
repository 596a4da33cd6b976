import { Button, NativeSelect } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { mostExported, readExecutions } from "../../api/exported.ts";
import { exportTexts } from "../../messages/export.ts";
import { t } from "../../messages/index.ts";
import { Action } from "../Action.tsx";
import { Dialog } from "../Dialog.tsx";
import type { Query } from "../filter.ts";
import { Failure } from "../Notice.tsx";
import { save } from "../save.ts";
import { asCSV, asLines } from "./table.ts";

const formats = {
  csv: { type: "text/csv", text: asCSV },
  jsonl: { type: "application/jsonl", text: asLines },
};
type Format = keyof typeof formats;

/** Saves the executions that match a filter as a file. Closing the dialog ends that. */
export default function ExportDialog({ query, close }: { query: () => Query; close: () => void }) {
  const texts = exportTexts();
  const [format, setFormat] = useState<Format>("csv");
  const [read, setRead] = useState(0);
  const reading = useRef<AbortController>(undefined);
  const run = useMutation({
    mutationFn: async () => {
      setRead(0);
      const controller = new AbortController();
      reading.current = controller;
      const { rows, more } = await readExecutions(query(), controller.signal, setRead);
      if (rows.length > 0 && !controller.signal.aborted) {
        const { type, text } = formats[format];
        save(new Blob([text(rows)], { type }), `executions.${format}`);
      }
      return { count: rows.length, more };
    },
  });
  useEffect(() => () => reading.current?.abort(), []);
  const { data } = run;
  return (
    <Dialog title={texts.title} close={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          run.mutate();
        }}
      >
        <p className="meta">{texts.help(mostExported)}</p>
        <NativeSelect
          label={texts.format}
          value={format}
          disabled={run.isPending}
          onChange={(event) => {
            setFormat(event.currentTarget.value === "jsonl" ? "jsonl" : "csv");
            run.reset();
          }}
          data={(["csv", "jsonl"] as const).map((value) => ({ value, label: texts.formats[value] }))}
        />
        <p role="status">
          {run.isPending && texts.reading(read)}
          {data && (data.count === 0 ? texts.none : texts.saved(data.count))}
          {data?.more === true && ` ${texts.cut(mostExported)}`}
        </p>
        {run.error && <Failure error={run.error} />}
        <div className="row">
          <Action type="submit" loading={run.isPending}>
            {texts.start}
          </Action>
          <Button variant="default" onClick={close}>
            {run.isPending ? t().cancel : t().close}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
