import { Button } from "@mantine/core";
import { useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useLostSince } from "../../api/connection.ts";
import { uploadFile } from "../../api/files.ts";
import { t } from "../../messages/index.ts";
import { formTexts } from "../../messages/workflows.ts";
import { Failure } from "../Notice.tsx";
import { Leaf, type FieldProps } from "./Leaf.tsx";

/** One file or several. They are uploaded as soon as they are chosen. */
export function FilesField({ camera, ...props }: FieldProps & { camera?: string }) {
  const { field, draft, change } = props;
  const [busy, setBusy] = useState(false);
  const lost = useLostSince() !== undefined;
  const [error, setError] = useState<unknown>();
  const latest = useRef<FieldProps>(undefined);
  const chooser = useRef<HTMLInputElement>(null);
  const photo = useRef<HTMLInputElement>(null);
  // A browser tells of no change when the same file is chosen again: after a failure, or when it was removed.
  const again = () => {
    for (const input of [chooser.current, photo.current]) {
      if (input) {
        input.value = "";
      }
    }
  };
  useLayoutEffect(() => {
    latest.current = props;
    return () => {
      latest.current = undefined; // the field was removed
    };
  });
  const many = field.kind === "files";
  const pictures = (field.constraints?.media_type ?? "")
    .split(",")
    .some((type) => type.trim() === "" || type.trim().startsWith("image/"));
  const upload = async (files: readonly File[]) => {
    setBusy(true);
    setError(undefined);
    const outcomes = await Promise.allSettled(files.map(uploadFile));
    const stored = outcomes.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    if (stored.length > 0) {
      // Other fields may have changed meanwhile, and another upload may end before the page is drawn again.
      flushSync(() => {
        const now = latest.current;
        now?.change({ ...now.draft, files: many ? [...now.draft.files, ...stored] : stored });
      });
    }
    const failed = outcomes.find((each) => each.status === "rejected");
    if (failed) {
      setError(failed.reason);
      again();
    }
    setBusy(false);
  };
  return (
    <Leaf {...props}>
      {(input) => (
        <>
          <input
            {...input}
            ref={chooser}
            className="schema-input"
            type="file"
            multiple={many}
            accept={field.constraints?.media_type}
            disabled={busy || lost || field.read_only}
            onChange={(event) => void upload([...(event.currentTarget.files ?? [])])}
          />
          {camera !== undefined && pictures && (
            // Phones open the camera for this one; the other one offers the pictures that there are.
            <label className="camera as-button">
              {camera}
              <input
                ref={photo}
                className="unseen"
                type="file"
                accept="image/*"
                capture="environment"
                disabled={busy || lost}
                onChange={(event) => void upload([...(event.currentTarget.files ?? [])])}
              />
            </label>
          )}
          <p role="status" className="meta">
            {busy ? formTexts().uploading : ""}
          </p>
          {error !== undefined && <Failure error={error} />}
          {draft.files.map((file) => (
            <span key={file.uri} className="row">
              <span>{file.name}</span>
              <span className="meta">{t().bytes(file.size)}</span>
              <Button
                variant="default"
                size="compact-sm"
                aria-label={formTexts().removeOf(file.name)}
                onClick={() => {
                  change({ ...draft, files: draft.files.filter((each) => each !== file) });
                  again();
                }}
              >
                {formTexts().remove}
              </Button>
            </span>
          ))}
        </>
      )}
    </Leaf>
  );
}
