import { Button } from "@mantine/core";
import { useEffect } from "react";
import { lookForSession } from "../api/me.ts";
import { queries } from "../api/query.ts";
import { shellTexts } from "../messages/shell.ts";
import { Dialog } from "../parts/Dialog.tsx";

/** Continues when there is a session again. */
async function look(): Promise<void> {
  if (await lookForSession()) {
    await queries.invalidateQueries();
  }
}

/** Lies over the page until the person has signed in again, so that nothing that was typed is lost. */
export default function SessionEnded() {
  const texts = shellTexts().session;
  useEffect(() => {
    const again = () => void look();
    addEventListener("focus", again);
    return () => removeEventListener("focus", again);
  }, []);
  return (
    <Dialog stays title={texts.title} close={() => void look()}>
      <p>{texts.text}</p>
      <div className="row dialog-actions">
        <Button component="a" href="/sign-in?return=/" target="_blank">
          {texts.signIn}
        </Button>
        <Button variant="default" onClick={() => void look()}>
          {texts.carryOn}
        </Button>
      </div>
    </Dialog>
  );
}
