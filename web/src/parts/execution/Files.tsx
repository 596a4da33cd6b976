import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { contentAddress, progressQuestion, runsQuestion, type Entry, type Result } from "../../api/detail.ts";
import type { Execution } from "../../api/executions.ts";
import { executionTexts } from "../../messages/execution.ts";
import { t } from "../../messages/index.ts";
import { Copy } from "../Copy.tsx";
import { later } from "../later.tsx";
import { hasPreview } from "../media.ts";
import { Empty, Failure } from "../Notice.tsx";
import { When } from "../Time.tsx";
import { Waiting } from "../Waiting.tsx";
import { filesOf, idOf, maker, makers, mostMakers } from "./made.ts";

const Preview = later(async () => ({ default: (await import("../Preview.tsx")).Preview }));

/** The files of an execution: its results, and what else its tasks have made. */
export function Files({ execution }: { execution: Execution }) {
  const texts = executionTexts();
  const progress = useQuery(progressQuestion(execution.id));
  const references = makers(progress.data?.data ?? []);
  const reference = references.slice(0, mostMakers);
  const asked = useQuery({ ...runsQuestion(execution.id, { reference }), enabled: reference.length > 0 });
  const failed = [progress, asked].find((each) => each.error);
  const runs = asked.data?.runs ?? [];
  const results = execution.results ?? [];
  const others = filesOf(runs, results);
  const waits = progress.isLoading || asked.isLoading;
  return (
    <>
      {failed && <Failure error={failed.error} retry={() => void failed.refetch()} />}
      {results.length > 0 && (
        <section>
          <h2>{texts.file.results}</h2>
          <Table
            id={execution.id}
            label={texts.file.results}
            rows={results.map((file) => ({ file, run: maker(runs, file) }))}
          />
        </section>
      )}
      {others.length > 0 && (
        <section>
          <h2>{texts.file.others}</h2>
          <Table id={execution.id} label={texts.file.others} rows={others} />
        </section>
      )}
      {(asked.data?.more === true || references.length > mostMakers) && <p className="complaint">{texts.file.cut}</p>}
      {waits && <Waiting />}
      {results.length + others.length === 0 && !waits && !failed && <Empty text={texts.noFiles} />}
    </>
  );
}

interface Row {
  file: Result;
  /** The run that has made it, if that is known. */
  run: Entry | undefined;
}

function Table({ id, label, rows }: { id: string; label: string; rows: readonly Row[] }) {
  const texts = executionTexts().file;
  const [opened, setOpened] = useState<Result>();
  const shown = opened && rows.some(({ file }) => idOf(file) === idOf(opened)) ? opened : undefined;
  return (
    <>
      <table className="list" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{texts.name}</th>
            <th scope="col">{texts.task}</th>
            <th scope="col">{texts.type}</th>
            <th scope="col">{texts.size}</th>
            <th scope="col">{texts.digest}</th>
            <th scope="col">{texts.expires}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ file, run }) => (
            <tr key={idOf(file)}>
              <td>
                <span className="row">
                  <FileLink file={file} />
                  {hasPreview(file.content_type) && (
                    <Button
                      size="compact-xs"
                      variant="default"
                      aria-pressed={shown !== undefined && idOf(file) === idOf(shown)}
                      aria-label={texts.showName(file.filename)}
                      onClick={() => setOpened(shown && idOf(file) === idOf(shown) ? undefined : file)}
                    >
                      {texts.show}
                    </Button>
                  )}
                </span>
              </td>
              <td>
                {run && (
                  <Link
                    to="/executions/$id"
                    params={{ id }}
                    search={{ task: run.reference, seq: String(run.seq) }}
                    preload={false}
                  >
                    {run.name}
                  </Link>
                )}
              </td>
              <td className="meta">{file.content_type}</td>
              <td className="number">{t().bytes(file.size)}</td>
              <td>
                <Digest file={file} />
              </td>
              <td>
                <When at={file.expires_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown && (
        <figure className="shown-file" aria-label={shown.filename}>
          <Suspense fallback={<Waiting />}>
            <Preview
              key={idOf(shown)}
              file={{
                name: shown.filename,
                type: shown.content_type,
                size: shown.size,
                address: contentAddress(shown.url),
              }}
            />
          </Suspense>
        </figure>
      )}
    </>
  );
}

/** The files of one run of a task, where there is little room. */
export function RunFiles({ files }: { files: readonly Result[] }) {
  return (
    <ul className="run-files">
      {files.map((file) => (
        <li key={idOf(file)} className="row">
          <FileLink file={file} />
          <span className="meta">{t().bytes(file.size)}</span>
          <Digest file={file} />
        </li>
      ))}
    </ul>
  );
}

const FileLink = ({ file }: { file: Result }) => (
  <a href={contentAddress(file.url)} download={file.filename} title={executionTexts().file.download(file.filename)}>
    {file.filename}
  </a>
);

/** The beginning of the digest of a file, and a button for the whole. */
const Digest = ({ file: { sha256, filename } }: { file: Result }) =>
  sha256 !== undefined && (
    <span className="id">
      <code title={sha256}>{sha256.slice(0, 8)}</code>
      <Copy text={sha256} what={executionTexts().file.digestOf(filename)} />
    </span>
  );
