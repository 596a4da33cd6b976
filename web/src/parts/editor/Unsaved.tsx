import { Button } from "@mantine/core";
import { definitionTexts } from "../../messages/definition.ts";
import { When } from "../Time.tsx";

/** Says that the text is one that was not saved, and offers to discard it. */
export default function Unsaved({ at, discard }: { at: string; discard: () => void }) {
  const texts = definitionTexts().editor;
  return (
    <div className="row kept" role="status">
      <span>
        {texts.kept} <When at={at} />
      </span>
      <Button variant="default" size="compact-sm" onClick={discard}>
        {texts.discard}
      </Button>
    </div>
  );
}
