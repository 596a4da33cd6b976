import { fileAddress } from "../../api/tasks.ts";
import { t } from "../../messages/index.ts";
import { tasksTexts } from "../../messages/tasks.ts";
import { Preview } from "../Preview.tsx";
import { shownFile } from "./reference.ts";

/** Files of a task with a preview of what a browser can show, the others to be downloaded. */
export function Files({ files, task }: { files: readonly unknown[]; task: string }) {
  const texts = tasksTexts();
  return (
    <section className="shown-files" aria-label={texts.files}>
      {files.map((value, i) => {
        const file = shownFile(value);
        if (file === undefined) {
          return null;
        }
        const address = fileAddress(file, task);
        return (
          <figure key={`${file.uri} ${i}`}>
            <figcaption className="row">
              <a href={address} download={file.name} title={texts.download(file.name)}>
                {file.name}
              </a>
              <span className="meta">
                {file.mediaType} {t().bytes(file.size)}
              </span>
            </figcaption>
            <Preview file={{ name: file.name, type: file.mediaType, size: file.size, address }} />
          </figure>
        );
      })}
    </section>
  );
}
