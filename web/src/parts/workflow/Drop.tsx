import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useState } from "react";
import { workflowsTexts } from "../../messages/workflows.ts";
import { setText } from "./handed.ts";

/** A definition has at most so many bytes. */
const most = 1 << 20;

const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;

/** Opens a definition that is dropped anywhere on the page in the editor. */
export function Drop() {
  const texts = workflowsTexts();
  const navigate = useNavigate();
  const [over, setOver] = useState(false);
  const [refused, setRefused] = useState<string>();
  const open = useEffectEvent(async (file: File) => {
    if (!/\.(ya?ml|json)$/i.test(file.name) || file.size > most) {
      setRefused(file.name);
      return;
    }
    try {
      setText(await file.text());
    } catch {
      setRefused(file.name); // a folder, or it is gone by now
      return;
    }
    await navigate({ to: "/workflows/new", search: {} });
  });
  useEffect(() => {
    const drag = (event: DragEvent) => {
      if (hasFile(event)) {
        event.preventDefault(); // it may be dropped
        setOver(true);
      }
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) {
        setOver(false); // it has left the window
      }
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file) {
        event.preventDefault();
        setRefused(undefined);
        void open(file);
      }
    };
    addEventListener("dragover", drag);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
  return (
    <>
      {over && (
        <p role="status" className="drop">
          {texts.dropHere}
        </p>
      )}
      {refused !== undefined && (
        <p role="alert" className="alert">
          {texts.notOpened(refused)}
        </p>
      )}
    </>
  );
}
