import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { fileAddress, textQuestion, type Shown } from "../../api/tasks.ts";
import { t } from "../../messages/index.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { JsonTree } from "../JsonTree.tsx";
import { Failure } from "../Notice.tsx";
import { Waiting } from "../Waiting.tsx";

/** How much of a text is shown. */
const mostBytes = 1 << 20;

const isFile = (value: unknown): value is Shown =>
  typeof (value as Shown | null)?.uri === "string" && (value as Shown).uri.includes("/files/");

/** Files of a task with a preview of what a browser can show, the others to be downloaded. */
export function Files({ files, task }: { files: readonly unknown[]; task: string }) {
  const texts = tasksTexts();
  return (
    <section className="task-files" aria-label={texts.files}>
      {files.filter(isFile).map((file, i) => (
        <figure key={`${file.uri} ${i}`}>
          <figcaption className="row">
            <a href={fileAddress(file, task)} download={file.name} title={texts.download(file.name)}>
              {file.name}
            </a>
            <span className="meta">
              {file.mediaType} {t().bytes(file.size)}
            </span>
          </figcaption>
          <Preview file={file} task={task} />
        </figure>
      ))}
    </section>
  );
}

function Preview({ file, task }: { file: Shown; task: string }) {
  const [broken, setBroken] = useState(false);
  const [type = ""] = file.mediaType.toLowerCase().split(";");
  if (broken) {
    return <p className="meta">{tasksTexts().fileBroken}</p>;
  }
  if (/^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/.test(type)) {
    return <img src={fileAddress(file, task)} alt={file.name} onError={() => setBroken(true)} />;
  }
  if (type.startsWith("text/") || /^application\/(json|yaml|xml|.+\+json)$/.test(type)) {
    return <Text file={file} task={task} type={type} />;
  }
  return <p className="meta">{tasksTexts().fileNoPreview}</p>;
}

function Text({ file, task, type }: { file: Shown; task: string; type: string }) {
  const texts = tasksTexts();
  const asked = useQuery(textQuestion(file, task, mostBytes));
  if (asked.error) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (asked.data === undefined) {
    return <Waiting />;
  }
  const json = type.endsWith("json") && file.size <= mostBytes ? parse(asked.data) : undefined;
  if (json !== undefined) {
    return <JsonTree value={json} name={file.name} />;
  }
  return (
    <>
      {/* Long text scrolls in its box, which the keyboard reaches. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="task-text" role="region" aria-label={texts.fileText(file.name)} tabIndex={0}>
        {asked.data}
      </pre>
      {file.size > mostBytes && <p className="meta">{texts.fileCut}</p>}
    </>
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
