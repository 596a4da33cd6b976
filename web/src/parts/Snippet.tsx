import { Copy } from "./Copy.tsx";

/** A text to copy, such as a piece of a program. */
export function Snippet({ name, text }: { name: string; text: string }) {
  return (
    <div className="snippet">
      <pre data-snippet={name}>{text}</pre>
      <Copy text={text} what={name} />
    </div>
  );
}
