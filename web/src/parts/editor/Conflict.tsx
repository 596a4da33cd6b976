import { Button } from "@mantine/core";
import { useState } from "react";
import type { Base } from "../../api/definitions.ts";
import { conflictTexts } from "../../messages/conflict.ts";
import { Copy } from "../Copy.tsx";
import { When } from "../Time.tsx";
import Diff from "./Diff.tsx";

const views = ["both", "theirs", "mine"] as const;

/** Another author has changed the workflow meanwhile: their text, the person's own, and what both began with. */
export default function Conflict({
  theirs,
  mine,
  base,
  resolve,
}: {
  theirs: Base & { name: string };
  mine: string;
  base: Base;
  /** Continues with a text. */
  resolve: (text: string) => void;
}) {
  const texts = conflictTexts();
  const [text, setText] = useState(mine);
  const [view, setView] = useState<(typeof views)[number]>("both");
  const isNew = base.tag === undefined;
  return (
    <section aria-label={texts.title}>
      <div className="alert" role="alert">
        <div>
          <strong>{isNew ? texts.taken(theirs.name) : texts.changed(theirs.name)}</strong>
          <p>
            {texts.theirs(theirs.version ?? "", theirs.by)} {theirs.at !== undefined && <When at={theirs.at} />}
          </p>
          <p>{texts.help}</p>
        </div>
      </div>
      <div className="row conflict-bar">
        <Button onClick={() => resolve(text)}>{texts.continue}</Button>
        <Button variant="default" onClick={() => resolve(theirs.text)}>
          {texts.take}
        </Button>
        <span className="row">
          {texts.mine}
          <Copy text={text} what={texts.mine} />
        </span>
      </div>
      {!isNew && (
        <div className="row beside" role="group" aria-label={texts.view}>
          {views.map((each) => (
            <Button
              key={each}
              size="compact-sm"
              variant={each === view ? "filled" : "default"}
              aria-pressed={each === view}
              onClick={() => setView(each)}
            >
              {texts.views[each]}
            </Button>
          ))}
        </div>
      )}
      {view === "both" && (
        <Diff
          a={{ text: theirs.text, label: texts.theirsName }}
          b={{ text, label: texts.mine }}
          layout="split"
          changed={setText}
        />
      )}
      {view === "theirs" && (
        <Diff
          a={{ text: base.text, label: texts.base }}
          b={{ text: theirs.text, label: texts.theirsName }}
          layout="split"
        />
      )}
      {view === "mine" && (
        <Diff a={{ text: base.text, label: texts.base }} b={{ text, label: texts.mine }} layout="split" />
      )}
    </section>
  );
}
