import { Button, NativeSelect } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { mostExported, mostMegabytes, readPages, type Pages } from "../api/exported.ts";
import { exportTexts } from "../messages/export.ts";
import { t } from "../messages/index.ts";
import { Action } from "./Action.tsx";
import { jsonLines } from "./csv.ts";
import { Dialog } from "./Dialog.tsx";
import { Failure } from "./Notice.tsx";
import { save } from "./save.ts";

const types = { csv: "text/csv", jsonl: "application/jsonl" };
type Format = keyof typeof types;

/** What is saved as a file: a list, and how its rows are written as a table. */
export interface Export<T> {
  title: string;
  /** What is in the file, and what is not. */
  help: string;
  /** The name of the file, without what says its format. */
  name: string;
  /** The list, from its first page. Lines says that its rows are wanted whole. */
  pages: (lines: boolean) => Pages<T>;
  /** The line of names of the table, and a page of its lines. */
  names: string;
  lines: (rows: readonly T[]) => string;
  /** So many rows, by their name. */
  count: (n: number) => string;
  none: string;
  /** Why rows are missing, and what to do: there are more than a file has. */
  cut: string;
  /** So many rows are in the list; rows that are not found are gone. Undefined: it is not known. */
  expected?: number;
}

/** Saves a list as a file. Closing the dialog ends that. */
export function ExportDialog<T>({ list, close }: { list: Export<T>; close: () => void }) {
  const texts = exportTexts();
  const [format, setFormat] = useState<Format>("csv");
  const [read, setRead] = useState(0);
  const reading = useRef<AbortController>(undefined);
  const run = useMutation({
    mutationFn: async () => {
      setRead(0);
      const controller = new AbortController();
      reading.current = controller;
      const write = format === "csv" ? list.lines : jsonLines;
      const saved = await readPages(list.pages(format === "jsonl"), write, controller.signal, setRead);
      if (saved.rows > 0 && !controller.signal.aborted) {
        const parts = format === "csv" ? [list.names, saved.file] : [saved.file];
        save(new Blob(parts, { type: types[format] }), `${list.name}.${format}`);
      }
      return saved;
    },
  });
  useEffect(() => () => reading.current?.abort(), []);
  const { data } = run;
  const gone = data && !data.more && list.expected !== undefined ? list.expected - data.rows : 0;
  return (
    <Dialog title={list.title} close={close}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          run.mutate();
        }}
      >
        <p className="meta">
          {list.help} {texts.limit(mostExported, mostMegabytes)}
        </p>
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
          {run.isPending && texts.reading(list.count(read))}
          {data && (data.rows === 0 ? list.none : texts.saved(list.count(data.rows)))}
          {data && data.rows > 0 && gone > 0 && ` ${texts.gone(gone)}`}
          {data?.more === true && ` ${list.cut}`}
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
