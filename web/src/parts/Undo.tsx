import { useState } from "react";
import { Action } from "./Action.tsx";
import { Failure } from "./Notice.tsx";

/** What has just been done, and how it is undone. */
export interface Done {
  text: string;
  button: string;
  undo: () => Promise<unknown>;
}

/** Says what has been done, with a button that undoes it. Another one is another component (key). */
export function Undo({ done, close }: { done: Done; close: () => void }) {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    try {
      await done.undo();
      close();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <>
      <p role="status" className="done">
        <span>{done.text}</span>
        <Action variant="default" loading={busy} onClick={() => void press()}>
          {done.button}
        </Action>
      </p>
      {error !== undefined && <Failure error={error} />}
    </>
  );
}
