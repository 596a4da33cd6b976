import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { textQuestion } from "../api/files.ts";
import { filesTexts } from "../messages/files.ts";
import { JsonTree } from "./JsonTree.tsx";
import { isImage, isText, plainType } from "./media.ts";
import { Failure } from "./Notice.tsx";
import { readSeparated, type Separated } from "./separated.ts";
import { Waiting } from "./Waiting.tsx";
import "../styles/files.css";

/** How much of a text is shown. */
const mostBytes = 1 << 20;

export interface Previewed {
  name: string;
  /** Its media type. */
  type: string;
  size: number;
  /** Where the browser finds its content, at this server. */
  address: string;
}

/** A file, if it is an image or text. Nothing in it runs. */
export function Preview({ file }: { file: Previewed }) {
  const [broken, setBroken] = useState(false);
  if (broken) {
    return <p className="meta">{filesTexts().broken}</p>;
  }
  if (isImage(file.type)) {
    return <img src={file.address} alt={file.name} onError={() => setBroken(true)} />;
  }
  return isText(file.type) ? <Text file={file} /> : <p className="meta">{filesTexts().noPreview}</p>;
}

function Text({ file: { name, type, size, address } }: { file: Previewed }) {
  const texts = filesTexts();
  const asked = useQuery(textQuestion(address, size, mostBytes));
  if (asked.error) {
    return <Failure error={asked.error} retry={() => void asked.refetch()} />;
  }
  if (asked.data === undefined) {
    return <Waiting />;
  }
  const json = plainType(type).endsWith("json") && size <= mostBytes ? parse(asked.data) : undefined;
  if (json !== undefined) {
    return <JsonTree value={json} name={name} />;
  }
  const separator = separators[plainType(type)];
  const table = separator && readSeparated(asked.data, separator, size > mostBytes);
  if (table) {
    return <Values table={table} name={name} />;
  }
  return (
    <>
      {/* Long text scrolls in its box, which the keyboard reaches. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre className="file-text" role="region" aria-label={texts.text(name)} tabIndex={0}>
        {asked.data}
      </pre>
      {size > mostBytes && <p className="meta">{texts.cut}</p>}
    </>
  );
}

const separators: Record<string, "," | "\t" | undefined> = { "text/csv": ",", "text/tab-separated-values": "\t" };

/** Text with commas or tabs as a table. */
function Values({ table: { names, rows, cut }, name }: { table: Separated; name: string }) {
  const texts = filesTexts();
  return (
    <>
      {/* A large table scrolls in its box, which the keyboard reaches. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className="file-values" role="region" aria-label={texts.text(name)} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {names.map((title, column) => (
                <th key={column} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, line) => (
              <tr key={line}>
                {row.map((value, column) => (
                  <td key={column}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="meta">
        {texts.rows(rows.length)} {cut && texts.cut}
      </p>
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
