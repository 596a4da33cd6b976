import { Button } from "@mantine/core";
import type { Link } from "../../api/people.ts";
import { formatExact } from "../../messages/format.ts";
import { peopleTexts } from "../../messages/people.ts";
import { Dialog } from "../Dialog.tsx";
import { Snippet } from "../Snippet.tsx";

/** A link that works once and is shown once. */
export function OnceLink({
  title,
  link,
  email,
  close,
}: {
  title: string;
  link: Link;
  email: string;
  close: () => void;
}) {
  const texts = peopleTexts();
  return (
    <Dialog title={title} close={close} stays size="lg">
      {link.url === undefined ? (
        <p role="alert">{texts.linkLost}</p>
      ) : (
        <>
          <p>{link.mailed ? texts.linkMailed(email) : texts.linkNotMailed(email)}</p>
          <Snippet name={texts.link} text={link.url} />
          <p>{texts.linkOnce(formatExact(new Date(link.expires_at)))}</p>
        </>
      )}
      <Button onClick={close}>{texts.linkDone}</Button>
    </Dialog>
  );
}
