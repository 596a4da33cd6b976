import { Button } from "@mantine/core";
import type { Base } from "../../api/definitions.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { Action } from "../Action.tsx";

/** What the text is, and what can be done with it. What the person may not do is left out. */
export function Bar({
  hidden,
  base,
  dirty,
  busy,
  save,
  publish,
  run,
  read,
  done,
}: {
  hidden: boolean;
  base: Base;
  dirty: boolean;
  busy: boolean;
  save: () => void;
  publish: (() => void) | undefined;
  run: (() => void) | undefined;
  read: (file: File) => void;
  done: () => void;
}) {
  const texts = definitionTexts().editor;
  const { version, revision = 1, draft } = base;
  return (
    <div className="row workbench-bar" hidden={hidden}>
      <span className="meta">
        {version === undefined ? texts.unsavedNew : texts.begunWith(version, revision, draft)}
        {dirty && ` · ${texts.unsaved}`}
      </span>
      <Action variant="default" size="compact-sm" title="Ctrl S" loading={busy} onClick={save}>
        {texts.save}
      </Action>
      {publish && (
        <Action size="compact-sm" title="Ctrl Shift S" onClick={publish}>
          {texts.publish}
        </Action>
      )}
      {run && (
        <Action variant="default" size="compact-sm" title="Ctrl Enter" onClick={run}>
          {dirty || draft ? texts.runInTest : texts.run}
        </Action>
      )}
      <label className="upload">
        <input
          type="file"
          accept=".yaml,.yml,.json"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            event.currentTarget.value = "";
            if (file) {
              read(file);
            }
          }}
        />
        {texts.upload}
      </label>
      <Button
        component="a"
        href="/docs/language/README"
        target="_blank"
        rel="noopener"
        variant="subtle"
        size="compact-sm"
        title="F1"
      >
        {texts.reference}
      </Button>
      <Button variant="subtle" size="compact-sm" onClick={done}>
        {texts.close}
      </Button>
    </div>
  );
}
